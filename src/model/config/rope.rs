//! The rotary part of `config.json`: v4 splits it over several keys, v5 puts all in `rope_parameters`.

use super::keys::Keys;
use crate::model::spec::{RopeScaling, RopeSpec, yarn_attention_factor};

/// A family's values for what the file leaves out.
#[derive(Clone, Copy)]
pub(super) struct RopeDefaults {
    pub(super) theta: f64,
    /// Part of a head that is rotated.
    pub(super) part: f64,
    /// Whether transformers reads `partial_rotary_factor` beside the other keys for this family; the others
    /// rotate the whole head whatever it says.
    pub(super) reads_part: bool,
}

impl Default for RopeDefaults {
    fn default() -> Self {
        Self { theta: 10_000.0, part: 1.0, reads_part: false }
    }
}

/// Warnings go to `warnings`.
pub(super) fn read_rope(
    keys: &Keys<'_>,
    head_dim: usize,
    context: usize,
    defaults: RopeDefaults,
    warnings: &mut Vec<String>,
) -> Result<RopeSpec, String> {
    let nested = match keys.object("rope_parameters")? {
        Some(parameters) => Some(parameters),
        None => keys.object("rope_scaling")?,
    };
    read_rope_object(keys, nested, head_dim, context, defaults, warnings)
}

/// The same where the caller knows which object has the parameters.
pub(super) fn read_rope_object(
    keys: &Keys<'_>,
    nested: Option<Keys<'_>>,
    head_dim: usize,
    context: usize,
    defaults: RopeDefaults,
    warnings: &mut Vec<String>,
) -> Result<RopeSpec, String> {
    let nested_number = |key: &str| nested.as_ref().map_or(Ok(None), |nested| nested.positive(key));
    let outer_theta = if keys.has("rotary_emb_base") { None } else { keys.positive("rope_theta")? };
    let theta = nested_number("rope_theta")?.or(outer_theta).unwrap_or(defaults.theta);
    let outer_part = if defaults.reads_part { keys.positive("partial_rotary_factor")? } else { None };
    let reads_nested = defaults.reads_part || defaults.part != 1.0;
    let nested_part = if reads_nested { nested_number("partial_rotary_factor")? } else { None };
    let part = nested_part.or(outer_part).unwrap_or(defaults.part);
    if part > 1.0 {
        return Err(format!("partial_rotary_factor is {part}, more than the whole head"));
    }
    let dim = (head_dim as f64 * part) as usize;
    let original = keys.positive("original_max_position_embeddings")?;
    let Some(nested) = nested else { return Ok(RopeSpec::plain(theta, dim)) };
    let scaling = read_scaling(&nested, context as f64, original)?;
    warnings.extend(nested.unknown());
    Ok(RopeSpec { theta, dim, scaling })
}

fn read_scaling(keys: &Keys<'_>, context: f64, outer_original: Option<f64>) -> Result<RopeScaling, String> {
    let old_name = keys.text("type")?;
    let kind = keys.text("rope_type")?.or(old_name).unwrap_or("default");
    let original = keys.positive("original_max_position_embeddings")?.or(outer_original);
    let factor = keys.positive("factor")?;
    // transformers: where the file gives no factor, it is the ratio of the contexts.
    let stretched = || factor.or(original.map(|original| context / original));
    let missing = |key: &str| format!("rope type {kind:?} needs {key}");
    Ok(match kind {
        "default" => RopeScaling::None,
        "linear" => RopeScaling::Linear { factor: factor.ok_or_else(|| missing("factor"))? },
        "dynamic" => RopeScaling::Dynamic { factor: factor.ok_or_else(|| missing("factor"))?, context },
        // Phi-3's first files say yarn (or su) and mean LongRoPE.
        "yarn" if !keys.has("short_factor") => {
            let factor = stretched().ok_or_else(|| missing("factor"))?;
            let given = keys.positive("attention_factor")?;
            let (mscale, all) = (keys.number("mscale")?, keys.number("mscale_all_dim")?);
            RopeScaling::Yarn {
                factor,
                beta_fast: keys.positive("beta_fast")?.unwrap_or(32.0),
                beta_slow: keys.positive("beta_slow")?.unwrap_or(1.0),
                original_context: original.unwrap_or(context),
                attention_factor: given.unwrap_or_else(|| yarn_attention_factor(factor, mscale, all)),
                truncate: keys.flag_or("truncate", true)?,
            }
        }
        "llama3" => RopeScaling::Llama3 {
            factor: factor.ok_or_else(|| missing("factor"))?,
            low_freq_factor: keys.required_positive("low_freq_factor")?,
            high_freq_factor: keys.required_positive("high_freq_factor")?,
            original_context: original.ok_or_else(|| missing("original_max_position_embeddings"))?,
        },
        "longrope" | "su" | "yarn" => {
            let original = original.ok_or_else(|| missing("original_max_position_embeddings"))?;
            let factor = factor.unwrap_or(context / original);
            let given = keys.positive("attention_factor")?;
            let of_factor = if factor <= 1.0 { 1.0 } else { (1.0 + factor.ln() / original.ln()).sqrt() };
            RopeScaling::LongRope {
                short: keys.positive_list("short_factor")?,
                long: keys.positive_list("long_factor")?,
                original_context: original,
                attention_factor: given.unwrap_or(of_factor),
            }
        }
        other => {
            return Err(format!(
                "rope type {other:?} is not supported (default, linear, dynamic, yarn, llama3 and longrope are)"
            ));
        }
    })
}

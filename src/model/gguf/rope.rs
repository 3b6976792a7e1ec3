//! The rotary part of a GGUF file: keys, and the tensors that carry divisors of the frequencies.

use super::Vectors;
use super::family::Family;
use super::keys::Keys;
use crate::model::spec::{RopeScaling, RopeSpec, yarn_attention_factor};

/// The rotary embedding of the global layers.
pub(super) fn read_rope(
    keys: &Keys<'_>,
    family: &Family,
    theta: f64,
    head_dim: usize,
    context: usize,
    vectors: &dyn Vectors,
) -> Result<RopeSpec, String> {
    let theta = keys.positive_or_assumed("rope.freq_base", theta)?;
    let dim = keys.optional_size("rope.dimension_count")?.unwrap_or(head_dim);
    if dim > head_dim || !dim.is_multiple_of(2) {
        return Err(format!("rotary embedding on {dim} of {head_dim} elements of a head is not possible"));
    }
    let scaling = read_scaling(keys, family, context as f64)?;
    let scaling = match (vectors.read("rope_freqs.weight", dim / 2)?, scaling) {
        (None, scaling) => scaling,
        (Some(divisors), RopeScaling::None) => RopeScaling::PerFrequency { divisors },
        (Some(divisors), RopeScaling::Linear { factor }) => {
            RopeScaling::PerFrequency { divisors: divisors.iter().map(|d| d * factor as f32).collect() }
        }
        (Some(_), _) => return Err("rope_freqs.weight together with YaRN is not supported".to_owned()),
    };
    let scaling = long_rope(keys, dim / 2, context as f64, vectors)?.unwrap_or(scaling);
    Ok(RopeSpec { theta, dim, scaling })
}

fn read_scaling(keys: &Keys<'_>, family: &Family, context: f64) -> Result<RopeScaling, String> {
    let factor = keys.positive_or_zero("rope.scaling.factor")?;
    let old_factor = keys.positive_or_zero("rope.scale_linear")?;
    let factor = factor.or(old_factor);
    let beta = |key: &str, usual: f64| Ok::<_, String>(keys.positive(key)?.unwrap_or(usual));
    let (beta_fast, beta_slow) =
        (beta("rope.scaling.yarn_beta_fast", 32.0)?, beta("rope.scaling.yarn_beta_slow", 1.0)?);
    let original_context = keys.positive("rope.scaling.original_context_length")?.unwrap_or(context);
    let log_multiplier = keys.positive_or_zero("rope.scaling.yarn_log_multiplier")?;
    let (given, extra) = (
        keys.positive_or_zero("rope.scaling.yarn_attn_factor")?,
        keys.positive_or_zero("rope.scaling.attn_factor")?,
    );
    let needed = || factor.ok_or("the file gives rope.scaling.type but no rope.scaling.factor");
    match keys.text("rope.scaling.type")? {
        None => Ok(old_factor.map_or(RopeScaling::None, |factor| RopeScaling::Linear { factor })),
        // The divisors are in tensors of their own.
        Some("none" | "longrope") => Ok(RopeScaling::None),
        Some("linear") => Ok(RopeScaling::Linear { factor: needed()? }),
        Some("yarn") => {
            let factor = needed()?;
            if keys.positive_or_zero("rope.scaling.yarn_ext_factor")?.is_some_and(|ext| ext != 1.0) {
                return Err("rope.scaling.yarn_ext_factor other than 1 is not supported".to_owned());
            }
            let usual = yarn_attention_factor(factor, log_multiplier.map(|_| 1.0), log_multiplier);
            if !family.yarn_truncates {
                keys.note(
                    "The file does not say whether YaRN's ramp ends at whole pairs: no is assumed".to_owned(),
                );
            }
            Ok(RopeScaling::Yarn {
                factor,
                beta_fast,
                beta_slow,
                original_context,
                attention_factor: given.unwrap_or(usual) * extra.unwrap_or(1.0),
                truncate: family.yarn_truncates,
            })
        }
        Some(other) => {
            Err(format!("rope scaling {other:?} is not supported (none, linear, yarn and longrope are)"))
        }
    }
}

/// LongRoPE, where the file has its two lists of divisors.
fn long_rope(
    keys: &Keys<'_>,
    pairs: usize,
    context: f64,
    vectors: &dyn Vectors,
) -> Result<Option<RopeScaling>, String> {
    let read = |name: &str| {
        let divisors = vectors.read(name, pairs)?;
        Ok::<_, String>(divisors.map(|divisors| divisors.into_iter().map(f64::from).collect::<Vec<_>>()))
    };
    let (short, long) = match (read("rope_factors_short.weight")?, read("rope_factors_long.weight")?) {
        (Some(short), Some(long)) => (short, long),
        (None, None) if keys.text("rope.scaling.type")? == Some("longrope") => {
            return Err(
                "rope scaling \"longrope\" needs rope_factors_short.weight and rope_factors_long.weight"
                    .to_owned(),
            );
        }
        (None, None) => return Ok(None),
        _ => {
            return Err(
                "the file has one of rope_factors_short.weight and rope_factors_long.weight".to_owned()
            );
        }
    };
    let original_context = keys.required_positive("rope.scaling.original_context_length")?;
    let stretch = (context / original_context).max(1.0);
    let usual = (1.0 + stretch.ln() / original_context.ln()).sqrt();
    let attention_factor = keys.positive_or_assumed("rope.scaling.attn_factor", usual)?;
    Ok(Some(RopeScaling::LongRope { short, long, original_context, attention_factor }))
}

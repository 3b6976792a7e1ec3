//! Which layers are local.

use super::keys::Keys;

/// For each layer its window. `layer_types` decides where the file has it, `otherwise` where not.
pub(super) fn read_windows(
    keys: &Keys<'_>,
    layers: usize,
    window: Option<usize>,
    otherwise: impl Fn(usize) -> bool,
) -> Result<Vec<Option<usize>>, String> {
    let Some(kinds) = keys.list("layer_types")? else {
        return Ok((0..layers).map(|layer| window.filter(|_| otherwise(layer))).collect());
    };
    if kinds.len() != layers {
        return Err(format!("layer_types lists {} layers of {layers}", kinds.len()));
    }
    let of = |kind: &serde_json::Value| match kind.as_str() {
        Some("full_attention") => Ok(None),
        Some("sliding_attention") => match window {
            Some(window) => Ok(Some(window)),
            None => Err("layer_types names sliding layers, but there is no sliding_window".to_owned()),
        },
        _ => Err(format!("layer type {kind} is not supported (full_attention and sliding_attention are)")),
    };
    kinds.iter().map(of).collect()
}

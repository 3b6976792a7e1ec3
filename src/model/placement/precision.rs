//! The precision that weights are kept in, from the memory that there is. Pure.

use crate::model::ModelSpec;
use crate::model::spec::{elements, inventory, is_matrix};
use crate::units::format_bytes;

/// How weights are kept. All computation is in f32, whatever this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floats: what the file says, exactly.
    F32,
    /// 16-bit floats with the range of f32.
    Bf16,
    /// 16-bit floats with a longer mantissa.
    F16,
    /// The file's own K-quants and `Q8_0`, as they are; types whose products are slow become f16.
    #[value(name = "stored")]
    Stored,
}

impl Precision {
    /// Its name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::Stored => "stored",
        }
    }
}

/// The precision of a load, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct PrecisionPlan {
    /// What was chosen.
    pub precision: Precision,
    /// Bytes that the weights take.
    pub bytes: u64,
    /// One line: why this one.
    pub reason: String,
    /// Every possible precision with the bytes that it takes.
    pub options: Vec<(Precision, u64)>,
}

/// Part of the available memory that weights may take: the run needs the rest.
const WEIGHTS_SHARE: f64 = 0.85;

/// Decides how weights are kept: f32 where that fits, else the 16-bit type that the file has (`half`), else the
/// quantised blocks of the file, where it has any (`stored_bytes`). `wanted` overrules.
///
/// # Errors
/// What is wanted, or the smallest there is, does not fit: `(needed, available)` in bytes.
pub fn plan_precision(
    spec: &ModelSpec,
    half: Precision,
    stored_bytes: Option<u64>,
    available_bytes: u64,
    wanted: Option<Precision>,
) -> Result<PrecisionPlan, PrecisionError> {
    let other = if half == Precision::F16 { Precision::Bf16 } else { Precision::F16 };
    let dense = [Precision::F32, half, other].map(|precision| (precision, dense_bytes(spec, precision)));
    let mut options = dense.to_vec();
    options.extend(stored_bytes.map(|bytes| (Precision::Stored, bytes)));
    let room = (available_bytes as f64 * WEIGHTS_SHARE) as u64;
    let of = |precision| options.iter().find(|(other, _)| *other == precision).copied();
    if let Some(wanted) = wanted {
        let (precision, bytes) = of(wanted).ok_or(PrecisionError::NothingStored)?;
        if bytes > available_bytes {
            return Err(PrecisionError::TooLarge { precision, needed: bytes, available: available_bytes });
        }
        return Ok(PrecisionPlan { precision, bytes, reason: "asked for".to_owned(), options });
    }
    let order = [Some(Precision::F32), Some(half), of(Precision::Stored).map(|_| Precision::Stored)];
    let mut fitting = order.into_iter().flatten().filter_map(of).filter(|(_, bytes)| *bytes <= room);
    let Some((precision, bytes)) = fitting.next() else {
        let (precision, needed) =
            options.iter().copied().min_by_key(|(_, bytes)| *bytes).expect("f32 is there");
        return Err(PrecisionError::TooLarge { precision, needed, available: available_bytes });
    };
    let available = format_bytes(available_bytes);
    let reason = match precision {
        Precision::F32 => format!("fits into {available} of free memory"),
        _ => format!("f32 would need {}, {available} are free", format_bytes(dense[0].1)),
    };
    Ok(PrecisionPlan { precision, bytes, reason, options })
}

/// Why a precision can't be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrecisionError {
    /// The weights do not fit.
    TooLarge {
        /// In this precision, the smallest or the wanted one.
        precision: Precision,
        /// Bytes that they need.
        needed: u64,
        /// Bytes that there are.
        available: u64,
    },
    /// The file has no quantised weights that could be kept.
    NothingStored,
}

/// Bytes of all weights: matrices in `precision`, vectors in f32.
fn dense_bytes(spec: &ModelSpec, precision: Precision) -> u64 {
    let width = if precision == Precision::F32 { 4 } else { 2 };
    let of = |(name, shape): (&String, &Vec<usize>)| {
        elements(shape).saturating_mul(if is_matrix(name, shape) { width } else { 4 })
    };
    inventory(spec).iter().map(of).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::spec::Dimensions;

    fn spec() -> ModelSpec {
        let sizes = Dimensions {
            layers: 4,
            heads: 4,
            kv_heads: 2,
            head_dim: 64,
            hidden: 256,
            mlp_hidden: 512,
            vocab: 4000,
            context: 512,
        };
        ModelSpec::llama("llama", sizes)
    }

    #[test]
    fn the_best_that_fits_is_chosen() {
        let spec = spec();
        let f32_bytes = dense_bytes(&spec, Precision::F32);
        assert_eq!(f32_bytes, 4 * spec.parameters());
        let plan =
            |available: u64, stored, wanted| plan_precision(&spec, Precision::F16, stored, available, wanted);
        let stored = Some(f32_bytes / 8);
        for (available, stored, chosen) in [
            (2 * f32_bytes, stored, Precision::F32),
            (f32_bytes, stored, Precision::F16),
            (f32_bytes / 2, stored, Precision::Stored),
            (f32_bytes, None, Precision::F16),
        ] {
            assert_eq!(plan(available, stored, None).expect("one fits").precision, chosen);
        }
        let error = plan(f32_bytes / 2, None, None).expect_err("nothing fits");
        assert!(matches!(error, PrecisionError::TooLarge { precision: Precision::F16, .. }), "{error:?}");
        assert_eq!(plan(f32_bytes, None, Some(Precision::Stored)), Err(PrecisionError::NothingStored));
        assert_eq!(
            plan(f32_bytes, None, Some(Precision::F32)).expect("it just fits").precision,
            Precision::F32
        );
        assert!(plan(f32_bytes - 1, None, Some(Precision::F32)).is_err());
        assert_eq!(
            plan(u64::MAX, None, Some(Precision::Bf16)).expect("asked for").precision,
            Precision::Bf16
        );
    }
}

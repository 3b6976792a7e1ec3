//! Names and shapes of the arrays in a session: one table for writing and reading.

use crate::capture::LayerCapture;
use crate::export::{NpyType, npy_header};
use crate::model::ModelSpec;
use half::f16;

/// NLL of the full run, `[n − 1]`.
pub(super) const NLL: &str = "nll_nats.npy";

/// One array of a layer.
pub(super) struct Field {
    name: &'static str,
    pub(super) shape: Vec<usize>,
    pub(super) of: fn(&LayerCapture) -> &Vec<f32>,
    pub(super) of_mut: fn(&mut LayerCapture) -> &mut Vec<f32>,
    /// Whether patterns are rebuilt from it, so that it may be rounded or left out.
    pub(super) is_pattern: bool,
}

impl Field {
    /// Its name in the archive.
    pub(super) fn member(&self, layer: usize) -> String {
        format!("layers/{layer}/{}.npy", self.name)
    }

    /// Bytes in a file, the header included; `None` where no machine could hold it.
    pub(super) fn bytes(&self, kind: NpyType) -> Option<u64> {
        npy_bytes(kind, &self.shape)
    }
}

/// Bytes of an array of a shape with its header.
pub(super) fn npy_bytes(kind: NpyType, shape: &[usize]) -> Option<u64> {
    let values = shape.iter().try_fold(1_u64, |product, &side| product.checked_mul(side as u64))?;
    let header = npy_header(kind, shape).len() as u64;
    values.checked_mul(kind.bytes() as u64)?.checked_add(header)
}

macro_rules! field {
    ($name:ident, $shape:expr, $is_pattern:expr) => {
        Field {
            name: stringify!($name),
            shape: $shape.to_vec(),
            of: |layer| &layer.$name,
            of_mut: |layer| &mut layer.$name,
            is_pattern: $is_pattern,
        }
    };
}

/// The arrays of every layer. Values are left out: only an eviction reads them, and it runs the model.
pub(super) fn fields(spec: &ModelSpec, n: usize) -> [Field; 10] {
    let (heads, kv_heads, dim) = (spec.heads, spec.kv_heads, spec.head_dim);
    [
        field!(q, [n, heads, dim], true),
        field!(k, [n, kv_heads, dim], true),
        field!(lse, [heads, n], false),
        field!(column_sums, [heads, n], false),
        field!(far_column_sums, [heads, n], false),
        field!(row_entropy_nats, [heads, n], false),
        field!(hidden_norm, [n], false),
        field!(hidden_max_abs, [n], false),
        field!(key_norm, [kv_heads, n], false),
        field!(value_norm, [kv_heads, n], false),
    ]
}

/// The names of a layer's score rule: scale and soft-cap, and where there are such, slopes and sink logits.
pub(super) fn score_members(layer: usize) -> [String; 3] {
    ["score", "alibi_slopes", "sink_logits"].map(|name| format!("layers/{layer}/{name}.npy"))
}

/// The names of a run's arrays: NLL, and where attention decided, when each key went.
pub(super) fn run_members(run: usize) -> [String; 2] {
    ["nll_nats", "evicted_at"].map(|name| format!("runs/{run}/{name}.npy"))
}

/// Values that an array can hold.
pub(super) trait Value: Copy {
    /// Their type.
    const KIND: NpyType;
    /// The value as bytes.
    fn put(self, out: &mut Vec<u8>);
    /// The value of some bytes, as many as the type has.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! value {
    ($kind:ident, $of:ty) => {
        impl Value for $of {
            const KIND: NpyType = NpyType::$kind;
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<Self>()];
                own.copy_from_slice(bytes);
                Self::from_le_bytes(own)
            }
        }
    };
}

value!(F16, f16);
value!(F32, f32);
value!(F64, f64);
value!(U32, u32);

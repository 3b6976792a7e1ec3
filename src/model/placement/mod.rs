//! Where a model's weights are kept and how: device and precision, chosen or asked for.

mod device;
mod precision;

pub(crate) use device::device_error;
pub(super) use device::device_name;
pub use device::{DeviceChoice, available_device_bytes, open_device};
pub use precision::{Precision, PrecisionError, PrecisionPlan, plan_precision};

use candle_core::{DType, Device};

/// What the user asks for when a model is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, serde::Serialize, serde::Deserialize)]
pub struct LoadOptions {
    /// How weights are kept; `None` lets [`plan_precision`] decide.
    pub precision: Option<Precision>,
    /// Where they are computed on.
    pub device: DeviceChoice,
}

/// What a decoder is loaded into.
#[derive(Debug, Clone)]
pub struct Placement {
    /// The type of activations, norms and biases: f32 for use, f64 for reference tests.
    pub compute: DType,
    /// How matrices are kept; they are widened to `compute` while they are used.
    pub precision: Precision,
    /// Where.
    pub device: Device,
}

impl Placement {
    /// All weights in the type that is computed in, on the CPU.
    #[must_use]
    pub fn exact(compute: DType) -> Self {
        Self { compute, precision: Precision::F32, device: Device::Cpu }
    }

    /// The type that a matrix is kept in, quantised ones apart.
    #[must_use]
    pub fn matrix_type(&self) -> DType {
        match self.precision {
            Precision::F32 => self.compute,
            Precision::Bf16 => DType::BF16,
            // What stays of a quantised file beside its fast types: their scales are f16.
            Precision::F16 | Precision::Stored => DType::F16,
        }
    }
}

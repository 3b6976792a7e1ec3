//! Which of the two forms of a step runs: fused over slices on the CPU, or candle ops as on a device.

use candle_core::{DType, Tensor};
use std::cell::Cell;

thread_local! {
    static DEVICE_STEPS: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` with the steps that a device takes, also on the CPU. There is no GPU where the tests run: this is how
/// they reach every step of the device path.
pub fn with_device_steps<R>(work: impl FnOnce() -> R) -> R {
    struct Reset(bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            DEVICE_STEPS.set(self.0);
        }
    }
    let _reset = Reset(DEVICE_STEPS.replace(true));
    work()
}

/// The type of a tensor whose elements can be lent as a slice; `None` where candle ops are to run.
pub(crate) fn slice_type(tensor: &Tensor) -> Option<DType> {
    let fused = tensor.device().is_cpu() && !DEVICE_STEPS.get();
    Some(tensor.dtype()).filter(|dtype| fused && matches!(dtype, DType::F32 | DType::F64))
}

//! The device that a model is computed on.

use crate::capture::available_memory_bytes;
use crate::model::ModelError;
use candle_core::{Device, DeviceLocation};
use std::str::FromStr;

/// What the user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceChoice {
    /// A GPU where this build and the machine have one, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// An NVIDIA GPU by its number.
    Cuda(usize),
    /// Apple's GPU.
    Metal,
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "metal" => Ok(Self::Metal),
            "cuda" => Ok(Self::Cuda(0)),
            _ => {
                let number = text.strip_prefix("cuda:").and_then(|number| number.parse().ok());
                number
                    .map(Self::Cuda)
                    .ok_or_else(|| format!("{text:?} is no device: auto, cpu, cuda:0 or metal"))
            }
        }
    }
}

impl std::fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
            Self::Metal => f.write_str("metal"),
        }
    }
}

impl DeviceChoice {
    /// The choices that this build can offer, the CPU always among them.
    #[must_use]
    pub fn offered() -> Vec<Self> {
        let mut offered = vec![Self::Auto, Self::Cpu];
        if cfg!(feature = "cuda") {
            offered.push(Self::Cuda(0));
        }
        if cfg!(feature = "metal") {
            offered.push(Self::Metal);
        }
        offered
    }
}

/// Opens the device. Where it can't be had, the CPU with a line that says why.
#[must_use]
pub fn open_device(choice: DeviceChoice) -> (Device, Option<String>) {
    let (wanted, opened) = match choice {
        DeviceChoice::Cpu => return (Device::Cpu, None),
        DeviceChoice::Auto => {
            // Nobody asked for a GPU: a machine without one is no news.
            let device = gpu(0).or_else(|_| metal()).unwrap_or(Device::Cpu);
            return (device, None);
        }
        DeviceChoice::Cuda(number) => (choice.to_string(), gpu(number)),
        DeviceChoice::Metal => (choice.to_string(), metal()),
    };
    match opened {
        Ok(device) => (device, None),
        Err(why) => (Device::Cpu, Some(format!("No {wanted} ({why}): running on the CPU"))),
    }
}

fn gpu(number: usize) -> Result<Device, String> {
    if !cfg!(feature = "cuda") {
        return Err("this build has no CUDA: build with --features cuda".to_owned());
    }
    Device::new_cuda(number).map_err(|error| first_line(&error))
}

fn metal() -> Result<Device, String> {
    if !cfg!(feature = "metal") {
        return Err("this build has no Metal: build with --features metal".to_owned());
    }
    Device::new_metal(0).map_err(|error| first_line(&error))
}

fn first_line(error: &candle_core::Error) -> String {
    error.to_string().lines().next().unwrap_or("unknown error").to_owned()
}

/// Free memory where the weights go, in bytes.
#[must_use]
pub fn available_device_bytes(device: &Device) -> u64 {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(_) => {
            let free = candle_core::cuda_backend::cudarc::driver::result::mem_get_info();
            free.map_or(u64::MAX, |(free, _)| free as u64)
        }
        // Apple's GPU shares the machine's memory.
        _ => available_memory_bytes(),
    }
}

/// A device's name, as [`DeviceChoice`] writes it.
#[must_use]
pub(in crate::model) fn device_name(device: &Device) -> String {
    match device.location() {
        DeviceLocation::Cpu => "cpu".to_owned(),
        DeviceLocation::Cuda { gpu_id } => format!("cuda:{gpu_id}"),
        DeviceLocation::Metal { .. } => "metal".to_owned(),
    }
}

/// A failure of the device as an error of ours: out of memory says what would fit.
pub(crate) fn device_error(error: candle_core::Error) -> ModelError {
    let text = error.to_string().to_lowercase();
    if text.contains("out_of_memory") || text.contains("out of memory") {
        return ModelError::DeviceMemory;
    }
    ModelError::Compute(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named_as_they_are_read() {
        for name in ["auto", "cpu", "cuda:0", "cuda:3", "metal"] {
            assert_eq!(name.parse::<DeviceChoice>().expect("a device").to_string(), name);
        }
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda(0)));
        for wrong in ["gpu", "cuda:", "cuda:-1", "CPU", ""] {
            assert!(wrong.parse::<DeviceChoice>().expect_err("no device").contains("cuda:0"));
        }
    }

    #[test]
    fn without_the_device_there_is_a_message_and_the_cpu() {
        let (device, note) = open_device(DeviceChoice::Cuda(99));
        assert!(device.is_cpu());
        assert!(note.expect("a message").ends_with("running on the CPU"));
        assert!(matches!(open_device(DeviceChoice::Cpu), (Device::Cpu, None)));
    }

    #[test]
    fn out_of_device_memory_is_told_from_other_failures() {
        let full =
            candle_core::Error::Msg("DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")".to_owned());
        let line = device_error(full).to_string();
        assert!(line.contains("shorter prompt") && line.contains("CPU"), "{line}");
        assert!(matches!(device_error(candle_core::Error::Msg("shape".to_owned())), ModelError::Compute(_)));
    }
}

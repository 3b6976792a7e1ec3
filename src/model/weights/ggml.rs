//! ggml's tensor types: their names, their blocks, and how they become f32.

use super::{iq4, mxfp4};
use candle_core::quantized::GgmlDType;
use candle_core::quantized::ggml_file::qtensor_from_ggml;
use candle_core::{Device, Tensor};
use rayon::prelude::*;

/// Types that [`Encoding::of`] knows, for messages.
const READABLE: &str =
    "F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS and MXFP4 are";

/// A tensor type that is read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// candle decodes it.
    Candle(GgmlDType),
    /// Decoded here, block by block.
    Iq4Nl,
    Iq4Xs,
    Mxfp4,
}

impl Encoding {
    /// The type of ggml's number.
    ///
    /// # Errors
    /// Why it can't be read: its name, and the types that can.
    pub(super) fn of(type_id: u32) -> Result<Self, String> {
        // Q8_1 and Q8_K are types of intermediate results; candle does not load them either.
        Ok(Self::Candle(match type_id {
            0 => GgmlDType::F32,
            1 => GgmlDType::F16,
            2 => GgmlDType::Q4_0,
            3 => GgmlDType::Q4_1,
            6 => GgmlDType::Q5_0,
            7 => GgmlDType::Q5_1,
            8 => GgmlDType::Q8_0,
            10 => GgmlDType::Q2K,
            11 => GgmlDType::Q3K,
            12 => GgmlDType::Q4K,
            13 => GgmlDType::Q5K,
            14 => GgmlDType::Q6K,
            30 => GgmlDType::BF16,
            20 => return Ok(Self::Iq4Nl),
            23 => return Ok(Self::Iq4Xs),
            39 => return Ok(Self::Mxfp4),
            _ => return Err(format!("{}, which this version can't read ({READABLE})", type_name(type_id))),
        }))
    }

    /// Elements that are stored together.
    pub(super) fn block_elements(self) -> usize {
        match self {
            Self::Candle(dtype) => dtype.block_size(),
            Self::Iq4Nl => iq4::NL_BLOCK,
            Self::Iq4Xs => iq4::XS_BLOCK,
            Self::Mxfp4 => mxfp4::BLOCK,
        }
    }

    /// Bytes of such a block.
    pub(super) fn block_bytes(self) -> usize {
        match self {
            Self::Candle(dtype) => dtype.type_size(),
            Self::Iq4Nl => iq4::NL_BLOCK_BYTES,
            Self::Iq4Xs => iq4::XS_BLOCK_BYTES,
            Self::Mxfp4 => mxfp4::GGML_BLOCK_BYTES,
        }
    }

    /// candle's type, where its products of quantised blocks are about as fast as those of floats: others have no
    /// vector code there.
    pub(super) fn fast_product(self) -> Option<GgmlDType> {
        use GgmlDType::{Q2K, Q3K, Q4K, Q5K, Q6K, Q8_0};
        match self {
            Self::Candle(dtype @ (Q2K | Q3K | Q4K | Q5K | Q6K | Q8_0)) => Some(dtype),
            _ => None,
        }
    }

    /// The tensor in f32. `data` are exactly its blocks, aligned to 4 bytes.
    pub(super) fn decode(self, data: &[u8], shape: &[usize]) -> candle_core::Result<Tensor> {
        let values = match self {
            Self::Candle(dtype) => {
                return qtensor_from_ggml(dtype, data, shape.to_vec(), &Device::Cpu)?
                    .dequantize(&Device::Cpu);
            }
            Self::Iq4Nl => blockwise(data, iq4::NL_BLOCK, iq4::decode_nl),
            Self::Iq4Xs => blockwise(data, iq4::XS_BLOCK, iq4::decode_xs),
            Self::Mxfp4 => blockwise(data, mxfp4::BLOCK, |block, out| {
                out.iter_mut().zip(mxfp4::halves(block)).for_each(|(out, weight)| *out = weight);
            }),
        };
        Tensor::from_vec(values, shape, &Device::Cpu)
    }
}

/// Decodes blocks of `BYTES` bytes and `elements` weights in parallel.
fn blockwise<const BYTES: usize>(
    data: &[u8],
    elements: usize,
    decode: impl Fn(&[u8; BYTES], &mut [f32]) + Sync,
) -> Vec<f32> {
    let (blocks, _) = data.as_chunks::<BYTES>();
    let mut out = vec![0.0; blocks.len() * elements];
    out.par_chunks_mut(elements).zip(blocks).for_each(|(out, block)| decode(block, out));
    out
}

/// ggml's name of a type.
pub(crate) fn type_name(type_id: u32) -> String {
    /// What ggml removed keeps its number.
    const NAMES: [&str; 43] = [
        "F32",
        "F16",
        "Q4_0",
        "Q4_1",
        "Q4_2",
        "Q4_3",
        "Q5_0",
        "Q5_1",
        "Q8_0",
        "Q8_1",
        "Q2_K",
        "Q3_K",
        "Q4_K",
        "Q5_K",
        "Q6_K",
        "Q8_K",
        "IQ2_XXS",
        "IQ2_XS",
        "IQ3_XXS",
        "IQ1_S",
        "IQ4_NL",
        "IQ3_S",
        "IQ2_S",
        "IQ4_XS",
        "I8",
        "I16",
        "I32",
        "I64",
        "F64",
        "IQ1_M",
        "BF16",
        "Q4_0_4_4",
        "Q4_0_4_8",
        "Q4_0_8_8",
        "TQ1_0",
        "TQ2_0",
        "IQ4_NL_4_4",
        "IQ4_NL_4_8",
        "IQ4_NL_8_8",
        "MXFP4",
        "NVFP4",
        "Q1_0",
        "Q2_0",
    ];
    NAMES.get(type_id as usize).map_or_else(|| format!("number {type_id}"), |name| (*name).to_owned())
}

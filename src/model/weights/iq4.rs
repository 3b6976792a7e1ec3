//! IQ4_NL and IQ4_XS: four-bit codes into a fixed table of 16 levels, as llama.cpp defines them. candle has neither.

/// Weights of an IQ4_NL block, and of one of the eight parts of an IQ4_XS block.
pub(super) const NL_BLOCK: usize = 32;
/// Bytes of an IQ4_NL block: a half-precision scale and 16 bytes of codes.
pub(super) const NL_BLOCK_BYTES: usize = 2 + NL_BLOCK / 2;
/// Weights of an IQ4_XS block.
pub(super) const XS_BLOCK: usize = 256;
/// Bytes of an IQ4_XS block: a half-precision scale, eight six-bit scales, 128 bytes of codes.
pub(super) const XS_BLOCK_BYTES: usize = 2 + 2 + 4 + XS_BLOCK / 2;

/// llama.cpp's `kvalues_iq4nl`.
const LEVELS: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Decodes one IQ4_NL block.
pub(super) fn decode_nl(block: &[u8; NL_BLOCK_BYTES], out: &mut [f32]) {
    codes(half([block[0], block[1]]), &block[2..], out);
}

/// Decodes one IQ4_XS block.
pub(super) fn decode_xs(block: &[u8; XS_BLOCK_BYTES], out: &mut [f32]) {
    let scale = half([block[0], block[1]]);
    let high = u16::from_le_bytes([block[2], block[3]]);
    let parts = out.chunks_exact_mut(NL_BLOCK).zip(block[8..].chunks_exact(NL_BLOCK / 2));
    for (part, (out, packed)) in parts.enumerate() {
        let low = block[4 + part / 2] >> (4 * (part % 2)) & 15;
        let level = low | (((high >> (2 * part)) & 3) as u8) << 4;
        codes(scale * (f32::from(level) - 32.0), packed, out);
    }
}

/// The low halves of 16 bytes are the first 16 weights, the high halves the rest.
fn codes(scale: f32, packed: &[u8], out: &mut [f32]) {
    let level = |code: u8| scale * f32::from(LEVELS[usize::from(code)]);
    let (first, second) = out.split_at_mut(packed.len());
    for ((first, second), &byte) in first.iter_mut().zip(second).zip(packed) {
        (*first, *second) = (level(byte & 15), level(byte >> 4));
    }
}

/// A half-precision number.
fn half(bytes: [u8; 2]) -> f32 {
    let bits = u16::from_le_bytes(bytes);
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 0x3FF));
    let magnitude = match exponent {
        0 => fraction * (-24_f32).exp2(),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * ((exponent - 25) as f32).exp2(),
    };
    if bits >> 15 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_is_read() {
        for (bits, value) in
            [(0x3C00_u16, 1.0), (0xC000, -2.0), (0x7BFF, 65504.0), (0x0001, 5.960_464_5e-8), (0, 0.0)]
        {
            assert_eq!(half(bits.to_le_bytes()), value);
        }
        assert_eq!(half(0xFC00_u16.to_le_bytes()), f32::NEG_INFINITY);
        assert!(half(0x7E00_u16.to_le_bytes()).is_nan());
    }
}

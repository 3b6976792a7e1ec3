//! MXFP4: blocks of 32 weights of 4 bits (E2M1) with a shared power of two (E8M0), as in the OCP
//! microscaling formats 1.0.

/// Weights of a block.
pub(super) const BLOCK: usize = 32;
/// Bytes of a block as ggml stores it.
pub(super) const GGML_BLOCK_BYTES: usize = 1 + BLOCK / 2;
/// The magnitudes of E2M1; the code's highest bit is the sign.
const MAGNITUDES: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

/// A block of 16 bytes whose bytes hold neighbours, the low half first (Hugging Face's order).
pub(super) fn alternating(packed: &[u8], scale: u8) -> impl Iterator<Item = f32> {
    let scale = power_of_two(scale);
    packed.iter().flat_map(move |&byte| [scale * value(byte & 15), scale * value(byte >> 4)])
}

/// A block as ggml stores it: the scale, then 16 bytes whose low halves are the first half of the weights.
pub(super) fn halves(block: &[u8; GGML_BLOCK_BYTES]) -> impl Iterator<Item = f32> {
    let (scale, packed) = (power_of_two(block[0]), &block[1..]);
    let low = packed.iter().map(move |&byte| scale * value(byte & 15));
    low.chain(packed.iter().map(move |&byte| scale * value(byte >> 4)))
}

fn value(code: u8) -> f32 {
    let magnitude = MAGNITUDES[usize::from(code & 7)];
    if code & 8 == 0 { magnitude } else { -magnitude }
}

/// `2^(exponent − 127)`; 255 stands for not a number.
fn power_of_two(exponent: u8) -> f32 {
    if exponent == 255 { f32::NAN } else { (f32::from(exponent) - 127.0).exp2() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_format() {
        let block: Vec<f32> = alternating(&[0x10, 0xF7, 0x2A], 128).collect();
        assert_eq!(block, [0.0, 1.0, 12.0, -12.0, -2.0, 2.0]);
        let mut block = [0x21; GGML_BLOCK_BYTES];
        block[0] = 126;
        assert_eq!(halves(&block).collect::<Vec<_>>(), [[0.25; 16], [0.5; 16]].concat());
        assert_eq!(power_of_two(127), 1.0);
        assert!(power_of_two(255).is_nan());
    }
}

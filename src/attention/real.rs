//! The two number types that the kernel runs in: f32 for users, f64 for the references of the tests.

/// f32 or f64, with an exponential that vectorises.
pub trait Real:
    num_traits::Float + Default + std::fmt::Debug + std::ops::AddAssign + std::iter::Sum + Send + Sync + 'static
{
    /// `exp(self)` for `self ≤ 0`; NaN stays NaN, what underflows is 0.
    #[must_use]
    fn exp_nonpositive(self) -> Self;
    /// Nearest value to a double.
    fn of(value: f64) -> Self;
    /// The value as a double.
    fn wide(self) -> f64;
}

impl Real for f32 {
    /// Range reduction by ln 2 in two parts and a degree-7 polynomial (the coefficients are those
    /// of Cephes' `expf`): within 2 units in the last place, branch-free, so that a loop over it
    /// becomes vector code. libm's `expf` is a call per element and four times slower.
    #[inline(always)]
    fn exp_nonpositive(self) -> Self {
        // 1.5 · 2²³: adding it rounds to an integer and leaves that integer in the low bits.
        const ROUNDING: f32 = 12_582_912.0;
        const LN_2_HIGH: f32 = 0.693_359_4;
        const LN_2_LOW: f32 = -2.121_944_4e-4;
        let shifted = self.mul_add(std::f32::consts::LOG2_E, ROUNDING);
        let power = shifted - ROUNDING;
        let rest = power.mul_add(-LN_2_LOW, power.mul_add(-LN_2_HIGH, self));
        let mut polynomial = 1.987_569_1e-4_f32;
        for coefficient in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5, 1.0, 1.0] {
            polynomial = polynomial.mul_add(rest, coefficient);
        }
        let two_to_power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
        // Below this the result is no normal number.
        if self < -87.0 { 0.0 } else { polynomial * two_to_power }
    }

    #[inline(always)]
    fn of(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    #[inline(always)]
    fn exp_nonpositive(self) -> Self {
        self.exp()
    }

    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_exponential_is_within_two_units_in_the_last_place() {
        let mut worst = 0.0_f64;
        for step in 0..=870_000 {
            let x = -1e-4 * step as f32;
            let exact = f64::from(x).exp();
            worst = worst.max((f64::from(x.exp_nonpositive()) - exact).abs() / exact);
        }
        assert!(worst < 2.4e-7, "relative error {worst:e}");
    }

    #[test]
    fn fast_exponential_keeps_nan_and_underflows_to_zero() {
        assert!(f32::NAN.exp_nonpositive().is_nan());
        assert_eq!(f32::NEG_INFINITY.exp_nonpositive(), 0.0);
        assert_eq!((-100.0_f32).exp_nonpositive(), 0.0);
        assert_eq!(0.0_f32.exp_nonpositive(), 1.0);
    }
}

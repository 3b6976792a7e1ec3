//! Colours that tell things apart that have no order.

/// Colours of sets, also for colour-blind readers (Okabe and Ito, adapted to the ground); they repeat after
/// eight.
#[must_use]
pub fn set_color(index: usize, dark: bool) -> [u8; 3] {
    const ON_DARK: [[u8; 3]; 8] = [
        [86, 180, 233],
        [230, 159, 0],
        [0, 190, 140],
        [240, 228, 66],
        [213, 110, 40],
        [204, 121, 167],
        [120, 150, 255],
        [200, 200, 200],
    ];
    const ON_LIGHT: [[u8; 3]; 8] = [
        [0, 114, 178],
        [190, 110, 0],
        [0, 130, 95],
        [130, 120, 0],
        [190, 70, 0],
        [170, 70, 130],
        [70, 70, 200],
        [70, 70, 70],
    ];
    if dark { ON_DARK[index % 8] } else { ON_LIGHT[index % 8] }
}

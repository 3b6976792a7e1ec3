//! The attention view on a synthetic capture: what the pointer reads, what clicks and keys do, what
//! arrives when, what is seen.

mod interaction;
mod pixels;
mod scene;
mod speed;
mod synthetic;
mod worker;

//! The attention view on a synthetic capture: what the pointer reads, what clicks and keys do, what
//! arrives when, what is seen.

mod heads;
mod interaction;
mod patterns;
mod pixels;
mod scene;
mod speed;
mod synthetic;
mod tools;
mod worker;

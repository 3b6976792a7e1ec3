//! The crate's only unsafe code: mapping a file into memory and calling the matrix product.
//!
//! Both are wrapped so that nothing outside this module can break what they need.
#![allow(unsafe_code)]

use crate::attention::Real;
use std::fs::File;
use std::ops::Deref;
use std::path::Path;

/// A file mapped read-only.
#[derive(Debug)]
pub struct MappedFile(memmap2::Mmap);

impl MappedFile {
    /// Maps the file at `path`.
    ///
    /// # Errors
    /// What the operating system says when the file can't be opened or mapped.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(std::io::Error::new(std::io::ErrorKind::IsADirectory, "it is a folder"));
        }
        // SAFETY: the mapping is read-only and private to us. Another process that truncates the
        // file under us can still fault the pages; every program that maps model files accepts
        // that, and copying gigabytes instead would not be better.
        Ok(Self(unsafe { memmap2::Mmap::map(&file)? }))
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// A matrix that lives in a slice: `row_stride` and `column_stride` count elements.
#[derive(Clone, Copy)]
pub(crate) struct MatrixRef<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) row_stride: usize,
    pub(crate) column_stride: usize,
}

impl<'a, T> MatrixRef<'a, T> {
    /// A matrix whose rows are contiguous and `row_stride` elements apart.
    pub(crate) fn rows(data: &'a [T], rows: usize, columns: usize, row_stride: usize) -> Self {
        Self { data, rows, columns, row_stride, column_stride: 1 }
    }

    /// One row of a matrix with contiguous rows.
    pub(crate) fn row(&self, row: usize) -> &'a [T] {
        &self.data[row * self.row_stride..][..self.columns]
    }

    /// The same data with rows and columns exchanged.
    pub(crate) fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Whether every element that the shape and strides reach lies in the slice.
    fn fits(&self) -> bool {
        self.rows == 0
            || self.columns == 0
            || (self.rows - 1) * self.row_stride + (self.columns - 1) * self.column_stride < self.data.len()
    }
}

/// `out = left · right` on the calling thread; `out` is row-major with rows `out_stride` apart.
pub(crate) fn matrix_product<T: Real>(
    out: &mut [T],
    out_stride: usize,
    left: MatrixRef<'_, T>,
    right: MatrixRef<'_, T>,
) {
    let (m, n, k) = (left.rows, right.columns, left.columns);
    if m == 0 || n == 0 {
        return;
    }
    assert_eq!(k, right.rows, "inner dimensions of a matrix product");
    assert!(left.fits() && right.fits(), "a factor's shape exceeds its slice");
    assert!(n <= out_stride && (m - 1) * out_stride + n <= out.len(), "the product exceeds its slice");
    let stride = |elements: usize| isize::try_from(elements).expect("strides fit a slice");
    // SAFETY: the asserts above prove that every element read or written lies in its slice, `out`
    // is borrowed mutably and so overlaps neither factor, and `gemm` supports f32 and f64, the only
    // types that implement `Real`.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            stride(out_stride),
            false,
            left.data.as_ptr(),
            stride(left.column_stride),
            stride(left.row_stride),
            right.data.as_ptr(),
            stride(right.column_stride),
            stride(right.row_stride),
            T::zero(),
            T::one(),
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

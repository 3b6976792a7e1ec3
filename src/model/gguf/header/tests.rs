use proptest::prelude::*;

use super::*;

/// Writes a header and remembers where its lengths and counts are.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    lengths_at: Vec<usize>,
}

impl Writer {
    fn raw(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.bytes.extend_from_slice(bytes.as_ref());
        self
    }

    fn length(&mut self, n: u64) -> &mut Self {
        self.lengths_at.push(self.bytes.len());
        self.raw(n.to_le_bytes())
    }

    fn string(&mut self, text: &str) -> &mut Self {
        self.length(text.len() as u64).raw(text)
    }

    fn pair(&mut self, key: &str, type_id: u32, value: impl AsRef<[u8]>) -> &mut Self {
        self.string(key).raw(type_id.to_le_bytes()).raw(value)
    }

    fn tensor(&mut self, name: &str, dims: &[u64], type_id: u32, offset: u64) -> &mut Self {
        let rank = u32::try_from(dims.len()).unwrap();
        self.string(name).raw(rank.to_le_bytes());
        for dim in dims {
            self.raw(dim.to_le_bytes());
        }
        self.raw(type_id.to_le_bytes()).raw(offset.to_le_bytes())
    }
}

/// A header with every value type and three tensors, one of an unknown type.
fn sample() -> Writer {
    let mut w = Writer::default();
    w.raw("GGUF").raw(3u32.to_le_bytes()).length(3).length(15);
    w.pair("u8", 0, [200]).pair("i8", 1, (-3i8).to_le_bytes());
    w.pair("u16", 2, 60_000u16.to_le_bytes()).pair("i16", 3, (-300i16).to_le_bytes());
    w.pair("u32", 4, 4_000_000_000u32.to_le_bytes()).pair("i32", 5, (-70_000i32).to_le_bytes());
    w.pair("f32", 6, 0.5f32.to_le_bytes()).pair("bool", 7, [1]);
    w.pair("text", 8, []).string("grüß");
    w.pair("u64", 10, (1u64 << 40).to_le_bytes()).pair("i64", 11, (-1i64).to_le_bytes());
    w.pair("f64", 12, 0.1f64.to_le_bytes());
    w.pair("general.alignment", 4, 64u32.to_le_bytes());
    w.pair("texts", 9, 8u32.to_le_bytes()).length(2).string("a").string("");
    w.pair("nested", 9, 9u32.to_le_bytes()).length(1).raw(5u32.to_le_bytes()).length(2);
    w.raw(1i32.to_le_bytes()).raw(2i32.to_le_bytes());
    w.tensor("token_embd.weight", &[4, 3], 0, 0).tensor("scalar", &[], 1, 64).tensor(
        "odd",
        &[2, 1, 1, 5],
        999,
        128,
    );
    w
}

#[test]
fn every_value_type_is_read() {
    let w = sample();
    let header = GgufHeader::parse(&w.bytes).unwrap();
    assert_eq!(header.metadata.len(), 15);
    assert_eq!(
        ["u8", "u16", "u32", "u64"].map(|key| header.u64(key)),
        [Some(200), Some(60_000), Some(4_000_000_000), Some(1 << 40)]
    );
    assert_eq!(
        ["i8", "i16", "i32", "i64"].map(|key| header.f64(key)),
        [Some(-3.0), Some(-300.0), Some(-70_000.0), Some(-1.0)]
    );
    assert_eq!(
        (header.f64("f32"), header.f64("f64"), header.bool("bool")),
        (Some(0.5), Some(0.1), Some(true))
    );
    assert_eq!((header.str("text"), header.u64("i8"), header.str("u8")), (Some("grüß"), None, None));
    let texts: Vec<_> = header.array("texts").unwrap().iter().map(GgufValue::as_str).collect();
    assert_eq!(texts, [Some("a"), Some("")]);
    let nested = header.array("nested").unwrap()[0].as_array().unwrap();
    assert_eq!(nested, [GgufValue::Signed(1), GgufValue::Signed(2)]);
    assert_eq!(header.data_offset, (w.bytes.len() as u64).div_ceil(64) * 64);
    let shapes: Vec<_> =
        header.tensors.iter().map(|t| (t.name.as_str(), t.shape.clone(), t.type_id, t.offset)).collect();
    assert_eq!(
        shapes,
        [
            ("token_embd.weight", vec![3, 4], 0, 0),
            ("scalar", vec![], 1, 64),
            ("odd", vec![5, 1, 1, 2], 999, 128)
        ]
    );
}

#[test]
fn a_header_cut_at_any_byte_is_an_error() {
    let whole = sample().bytes;
    assert!(GgufHeader::parse(&whole).is_ok());
    for bytes in 0..whole.len() {
        let why = GgufHeader::parse(&whole[..bytes]).unwrap_err();
        let known = why.contains("cut short at byte") || why.contains("more than the file holds");
        assert!(known && !why.contains('\n'), "{bytes}: {why}");
    }
}

#[test]
fn a_length_that_lies_is_an_error() {
    let w = sample();
    assert_eq!(w.lengths_at.len(), 2 + 15 + 1 + 3 + 2 + 3, "every length is tried");
    for &at in &w.lengths_at {
        for lie in [u64::MAX, i64::MAX as u64, 1 << 40, 1 << 32, 17 << 20, w.bytes.len() as u64] {
            let mut bytes = w.bytes.clone();
            bytes[at..at + 8].copy_from_slice(&lie.to_le_bytes());
            assert!(GgufHeader::parse(&bytes).is_err(), "{lie} at byte {at}");
        }
    }
}

#[test]
fn what_is_no_gguf_file_is_told() {
    let refused = |change: &dyn Fn(&mut Writer)| {
        let mut w = Writer::default();
        change(&mut w);
        GgufHeader::parse(&w.bytes).unwrap_err()
    };
    assert_eq!(refused(&|w| _ = w.raw("PK\u{3}\u{4}more")), "not a GGUF file (wrong magic bytes)");
    assert_eq!(refused(&|w| _ = w.raw("GG")), "cut short at byte 2");
    let start = |w: &mut Writer, version: u32, tensors: u64, pairs: u64| {
        w.raw("GGUF").raw(version.to_le_bytes()).length(tensors).length(pairs);
    };
    assert_eq!(refused(&|w| start(w, 1, 0, 0)), "GGUF version 1 is not supported (2 and 3 are)");
    let pair = |type_id: u32, value: Vec<u8>| {
        refused(&|w| {
            start(w, 3, 0, 1);
            w.pair("key", type_id, &value).raw([0; 64]);
        })
    };
    assert_eq!(pair(13, vec![]), "metadata key key: unknown value type 13");
    assert_eq!(pair(9, 77u32.to_le_bytes().to_vec()), "metadata key key: unknown value type 77");
    let deep: Vec<u8> =
        (0..5).flat_map(|_| [9u32.to_le_bytes().to_vec(), 1u64.to_le_bytes().to_vec()].concat()).collect();
    assert_eq!(pair(9, deep), "metadata key key: arrays nest too deep");
    let alignment = |value: u32| {
        refused(&|w| {
            start(w, 3, 0, 1);
            w.pair("general.alignment", 4, value.to_le_bytes());
        })
    };
    assert_eq!(alignment(0), "general.alignment is 0");
    assert_eq!(alignment(1 << 21), "general.alignment is 2097152");
    let tensor = |dims: &[u64]| {
        refused(&|w| {
            start(w, 3, 1, 0);
            w.tensor("t", dims, 0, 0);
        })
    };
    assert_eq!(tensor(&[1; 5]), "tensor t has 5 dimensions");
    assert!(tensor(&[1 << 40, 1 << 40]).starts_with("tensor t has an impossible shape"));
}

proptest! {
    /// Whatever is damaged, the reader answers.
    #[test]
    fn damage_never_panics(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = sample().bytes;
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Err(why) = GgufHeader::parse(&bytes) {
            prop_assert!(!why.is_empty());
        }
    }
}

//! SHA-1 (FIPS 180-4, section 6.1), for the UUIDs that mdadm computes with it. Not for anything that must be secret.

/// The digest's five words.
pub(super) fn sha1(message: &[u8]) -> [u32; 5] {
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - message.len() < 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let bits = (message.len() as u64).wrapping_mul(8).to_be_bytes();
    padded.truncate(padded.len() - bits.len());
    padded.extend_from_slice(&bits);

    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in padded.chunks_exact(64) {
        let mut words: Vec<u32> = block.as_chunks::<4>().0.iter().map(|b| u32::from_be_bytes(*b)).collect();
        while words.len() < 80 {
            let back = |n: usize| words.len().checked_sub(n).and_then(|at| words.get(at)).copied().unwrap_or_default();
            let next = (back(3) ^ back(8) ^ back(14) ^ back(16)).rotate_left(1);
            words.push(next);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (round, word) in words.iter().enumerate() {
            let (f, k) = match round {
                0..20 => ((b & c) | (!b & d), 0x5a82_7999),
                20..40 => (b ^ c ^ d, 0x6ed9_eba1),
                40..60 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let next = a.rotate_left(5).wrapping_add(f).wrapping_add(e).wrapping_add(k).wrapping_add(*word);
            (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
        }
        for (sum, word) in state.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.wrapping_add(word);
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::sha1;

    /// The examples of RFC 3174, and lengths around the end of a block as coreutils' `sha1sum` has them.
    #[test]
    fn known_digests() {
        let hex = |message: &[u8]| sha1(message).map(|word| format!("{word:08x}")).concat();
        assert_eq!(hex(b""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(hex(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        let long = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(hex(long), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
        for (length, digest) in [
            (55, "c1c8bbdc22796e28c0e15163d20899b65621d65a"),
            (56, "c2db330f6083854c99d4b5bfb6e8f29f201be699"),
            (63, "03f09f5b158a7a8cdad920bddc29b81c18a551f5"),
            (64, "0098ba824b5c16427bd7a1122a5a442a25ec644d"),
            (119, "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56"),
            (120, "f34c1488385346a55709ba056ddd08280dd4c6d6"),
        ] {
            assert_eq!(hex(&vec![b'a'; length]), digest, "{length}");
        }
    }
}

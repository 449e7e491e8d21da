//! The nearest known word to one that nobody knows, for messages.

/// The known word that `word` was most likely meant to be, if any is near: at most one change in three characters, and
/// never more than three (insert, delete, replace, or two neighbours swapped).
#[must_use]
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).clamp(1, 3);
    known.iter().map(|k| (distance(word, k), *k)).filter(|(d, _)| *d <= limit).min_by_key(|(d, _)| *d).map(|(_, k)| k)
}

/// `; did you mean "…"?` or `; known are …`, to follow a sentence about `word`.
#[must_use]
pub fn hint(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(k) => format!("; did you mean \"{k}\"?"),
        None => format!("; known: {}", known.join(", ")),
    }
}

/// Optimal string alignment distance. Words longer than 64 characters are cut: they are no typing mistake.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let at = |row: &[usize], n: usize| row.get(n).copied().unwrap_or(usize::MAX / 2);
    for (i, ca) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, cb) in b.iter().enumerate() {
            let mut best = (at(&last, j) + usize::from(ca != cb)).min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(cb) && b.get(j - 1) == Some(ca);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    at(&last, b.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let known = ["safe", "bounded", "unknown", "unsafe"];
        assert_eq!(nearest("unkown", &known), Some("unknown"));
        assert_eq!(nearest("usnafe", &known), Some("unsafe"));
        assert_eq!(nearest("boundde", &known), Some("bounded"));
        assert_eq!(nearest("colour", &known), None);
        assert!(hint("colour", &known).contains("safe, bounded"));
    }

    #[test]
    fn distances_are_right() {
        for (a, b, d) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 1), ("dash", "dahs", 1)] {
            assert_eq!(distance(a, b), d, "{a} {b}");
            assert_eq!(distance(b, a), d, "{b} {a}");
        }
    }
}

//! Quantities as Kubernetes writes them, as numbers: they are compared by what they mean, and the
//! API server rewrites them (`1000m` comes back as `1`, `1024Mi` as `1Gi`).

/// In billionths, the smallest part that Kubernetes keeps. `None` where the text is no quantity, or
/// one that the server would round: then only the same spelling is the same.
pub fn nanos(text: &str) -> Option<i128> {
    let (negative, unsigned) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let end = unsigned.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let mut value: i128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    let (binary, decimal) = exponents(suffix)?;
    value = value.checked_mul(1_i128.checked_shl(binary)?)?;
    let decimal = decimal.checked_add(9)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let power = 10_i128.checked_pow(decimal.unsigned_abs())?;
    let value = if decimal >= 0 {
        value.checked_mul(power)?
    } else if value % power == 0 {
        value / power
    } else {
        return None;
    };
    Some(if negative { -value } else { value })
}

/// What a suffix multiplies by, as powers of two and of ten.
fn exponents(suffix: &str) -> Option<(u32, i32)> {
    Some(match suffix {
        "n" => (0, -9),
        "u" => (0, -6),
        "m" => (0, -3),
        "" => (0, 0),
        "k" => (0, 3),
        "M" => (0, 6),
        "G" => (0, 9),
        "T" => (0, 12),
        "P" => (0, 15),
        "E" => (0, 18),
        "Ki" => (10, 0),
        "Mi" => (20, 0),
        "Gi" => (30, 0),
        "Ti" => (40, 0),
        "Pi" => (50, 0),
        "Ei" => (60, 0),
        _ => (0, suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::nanos;

    #[rstest]
    #[case("1000m", "1")]
    #[case("1024Mi", "1Gi")]
    #[case("1.5Gi", "1536Mi")]
    #[case("1.50", "1500m")]
    #[case("2e9", "2G")]
    #[case("2E9", "2G")]
    #[case("1E", "1000P")]
    #[case("+0.5", ".5")]
    #[case("1.", "1")]
    #[case("100e-3", "100m")]
    #[case("0", "0Ki")]
    #[case("9223372036854775807", "9223372036854775807.0")]
    fn spellings_of_one_quantity_are_one_number(#[case] one: &str, #[case] other: &str) {
        assert!(nanos(one).is_some());
        assert_eq!(nanos(one), nanos(other));
    }

    #[rstest]
    #[case("1", "1m")]
    #[case("1G", "1Gi")]
    #[case("1", "-1")]
    fn different_quantities_are_different_numbers(#[case] one: &str, #[case] other: &str) {
        assert_ne!(nanos(one), nanos(other));
    }

    #[rstest]
    #[case("")]
    #[case("m")]
    #[case(".")]
    #[case("1.2.3")]
    #[case("much")]
    #[case("1kk")]
    #[case("0.1n")]
    #[case("1e999999999999")]
    #[case("1e2147483647")]
    #[case("999999999999999999999999999999999999999999999")]
    fn what_has_no_exact_number_has_none(#[case] text: &str) {
        assert_eq!(nanos(text), None);
    }

    #[rstest]
    #[case("500m", "1", true)]
    #[case("1", "1", false)]
    #[case("512Mi", "1Gi", true)]
    #[case("1e9", "1Gi", true)]
    #[case("2G", "1Gi", false)]
    #[case("much", "1Gi", true)]
    fn quantities_compare_over_their_notations(
        #[case] one: &str,
        #[case] other: &str,
        #[case] less: bool,
    ) {
        assert_eq!(nanos(one) < nanos(other), less);
    }
}

//! Quantities as Kubernetes writes them (`500m`, `1Gi`, `2e3`), compared by what they mean.

/// An amount, in billionths of its unit, which is as fine as Kubernetes counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity(i128);

const UNIT: i128 = 1_000_000_000;

impl Quantity {
    pub fn parse(text: &str) -> Option<Self> {
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let end =
            unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let (factor, divisor) = scale(suffix)?;
        let divisor =
            divisor.checked_mul(10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?)?;
        let scaled = digits.checked_mul(UNIT)?.checked_mul(factor)?;
        // Rounded up, as Kubernetes does with what is finer than it counts.
        let amount = scaled.checked_add(divisor - 1)? / divisor;
        Some(Self(if negative { -amount } else { amount }))
    }
}

/// What a suffix multiplies with, as a fraction.
fn scale(suffix: &str) -> Option<(i128, i128)> {
    const SMALL: [&str; 3] = ["m", "u", "n"];
    const DECIMAL: [&str; 6] = ["k", "M", "G", "T", "P", "E"];
    const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let place = |list: &[&str]| list.iter().position(|known| *known == suffix);
    let power = |base: i128, place: usize| base.pow(u32::try_from(place).unwrap_or(0) + 1);
    if suffix.is_empty() {
        return Some((1, 1));
    }
    if let Some(place) = place(&SMALL) {
        return Some((1, power(1000, place)));
    }
    if let Some(place) = place(&DECIMAL) {
        return Some((power(1000, place), 1));
    }
    if let Some(place) = place(&BINARY) {
        return Some((power(1024, place), 1));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let ten = 10_i128.checked_pow(exponent.unsigned_abs())?;
    Some(if exponent < 0 { (1, ten) } else { (ten, 1) })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1000m", "1")]
    #[case("1024Mi", "1Gi")]
    #[case("0.5", "500m")]
    #[case("1e3", "1k")]
    #[case("1E", "1000P")]
    #[case("12e-1", "1200m")]
    #[case("+1.50Gi", "1536Mi")]
    fn one_amount_in_two_spellings(#[case] one: &str, #[case] other: &str) {
        assert_eq!(Quantity::parse(one).unwrap(), Quantity::parse(other).unwrap());
    }

    #[rstest]
    #[case("1Gi", "1G")]
    #[case("20Gi", "10Gi")]
    #[case("1", "999m")]
    #[case("0", "-1")]
    fn the_first_is_more(#[case] more: &str, #[case] less: &str) {
        assert!(Quantity::parse(more).unwrap() > Quantity::parse(less).unwrap());
    }

    #[rstest]
    #[case("")]
    #[case("Gi")]
    #[case("1GiB")]
    #[case("1.2.3")]
    #[case("ten")]
    #[case("99999999999999999999999999999999999999Ei")]
    fn what_is_no_quantity_is_none(#[case] text: &str) {
        assert_eq!(Quantity::parse(text), None);
    }
}

//! `rollout.window`: when a change of shared inputs may reach servers, as a schedule of cron and a duration.

use cronexpr::{Crontab, FallbackTimezoneOption, MakeTimestamp, ParseOptions, parse_crontab_with};

/// From each time of the schedule on, changes may begin for so long.
#[derive(Clone, Debug)]
pub struct Window {
    schedule: Crontab,
    /// In seconds.
    duration: i64,
    text: String,
}

impl Window {
    /// `schedule` has five fields, as in a CronJob; its times are of UTC. The error says what is wrong with it.
    pub fn parse(schedule: &str, duration: i64) -> Result<Self, String> {
        let mut options = ParseOptions::default();
        options.fallback_timezone_option = FallbackTimezoneOption::UTC;
        // More fields would be a time zone, and the operator's image has no list of those.
        if schedule.split_whitespace().count() != 5 {
            return Err("must have five fields, such as `0 22 * * 1-5`".to_owned());
        }
        let parsed = parse_crontab_with(schedule, options).map_err(|error| error.to_string())?;
        let window = Self { schedule: parsed, duration, text: schedule.to_owned() };
        // For example of 30 February.
        window.next_after(0).is_some().then_some(window).ok_or("names no time".to_owned())
    }

    /// When it opens, in seconds; `None` while it is open.
    pub fn opens_at(&self, now: i64) -> Option<i64> {
        let latest = self.next_after(now - self.duration).unwrap_or(i64::MAX);
        (latest > now).then_some(latest)
    }

    /// The first time of the schedule after this one.
    fn next_after(&self, time: i64) -> Option<i64> {
        let time = MakeTimestamp::from_second(time).ok()?;
        Some(self.schedule.find_next(time).ok()?.timestamp().as_second())
    }
}

/// The same text means the same times.
impl PartialEq for Window {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, self.duration) == (&other.text, other.duration)
    }
}

impl Eq for Window {}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn second(time: &str) -> i64 {
        time.parse::<Timestamp>().unwrap().as_second()
    }

    #[test]
    fn a_window_is_open_for_its_duration_from_each_time_of_its_schedule_on() {
        let window = Window::parse("0 22 * * MON-FRI", 4 * 3600).unwrap();
        let monday = second("2026-11-16T22:00:00Z");
        for (now, opens_at) in [
            ("2026-11-16T21:59:59Z", Some(monday)),
            ("2026-11-16T22:00:00Z", None),
            ("2026-11-17T01:59:59Z", None),
            ("2026-11-17T02:00:00Z", Some(second("2026-11-17T22:00:00Z"))),
            ("2026-11-21T03:00:00Z", Some(second("2026-11-23T22:00:00Z"))),
        ] {
            assert_eq!(window.opens_at(second(now)), opens_at, "{now}");
        }
        let always = Window::parse("*/5 * * * *", 600).unwrap();
        assert!((0..600).all(|now| always.opens_at(monday + now).is_none()));
    }

    #[test]
    fn a_schedule_that_is_none_is_refused() {
        for wrong in ["", "22:00", "61 * * * *", "0 22 * * 1-5 Europe/Berlin", "0 0 30 2 *"] {
            assert!(Window::parse(wrong, 3600).is_err(), "{wrong}");
        }
    }
}

//! The trend of a problem: its failures in the last hour, compared with the hour before.

/// How the number of failures changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProblemTrend {
    Growing,
    Steady,
    Falling,
}

impl ProblemTrend {
    /// Compares the failures of the last hour with those of the hour before. Differences of up to a tenth are steady,
    /// because a hook that is probed has about one failure a minute. `None` without failures.
    pub(super) fn of(last_hour: i64, hour_before: i64) -> Option<Self> {
        if last_hour <= 0 && hour_before <= 0 {
            return None;
        }
        let difference = last_hour - hour_before;
        Some(match difference {
            _ if difference.abs() * 10 <= hour_before => Self::Steady,
            1.. => Self::Growing,
            _ => Self::Falling,
        })
    }

    /// Returns the sign that is shown in narrow columns.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Growing => "^",
            Self::Steady => "=",
            Self::Falling => "v",
        }
    }

    /// Returns the word that is shown in wide columns.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Growing => "growing",
            Self::Steady => "steady",
            Self::Falling => "falling",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_failures_than_in_the_hour_before_are_growing() {
        for (last, before, expected) in [
            (0, 0, None),
            (1, 0, Some("growing")),
            (0, 1, Some("falling")),
            (3, 3, Some("steady")),
            (61, 60, Some("steady")),
            (54, 60, Some("steady")),
            (53, 60, Some("falling")),
            (67, 60, Some("growing")),
        ] {
            assert_eq!(ProblemTrend::of(last, before).map(ProblemTrend::word), expected, "{last} {before}");
        }
    }
}

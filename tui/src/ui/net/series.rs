//! The period of charts.

/// The period of a series of metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SeriesSpan {
    #[default]
    Minute,
    Hour,
    Day,
}

impl SeriesSpan {
    /// Returns its name, which is also that in requests.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    pub(crate) fn next(self) -> Self {
        match self {
            Self::Minute => Self::Hour,
            Self::Hour => Self::Day,
            Self::Day => Self::Minute,
        }
    }

    pub(crate) fn previous(self) -> Self {
        self.next().next()
    }
}

/// The period of the results of deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ResultsSpan {
    Hour,
    #[default]
    Day,
    Week,
}

impl ResultsSpan {
    /// Returns its name, which is also that in requests.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
        }
    }

    pub(crate) fn next(self) -> Self {
        match self {
            Self::Hour => Self::Day,
            Self::Day => Self::Week,
            Self::Week => Self::Hour,
        }
    }
}

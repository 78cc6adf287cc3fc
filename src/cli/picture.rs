//! Pictures of `ulp stat --plot`, where the command is built with them.

pub(super) use self::built::Picture;

#[cfg(feature = "plot")]
mod built {
    use std::ffi::OsStr;
    use std::io::Write;

    use ulpack::stat::{Report, plot};

    use crate::cli::failure::Failure;
    use crate::cli::options::Target;
    use crate::cli::output::Destination;
    use crate::cli::progress::{Direction, Progress};

    /// A picture to be.
    pub(in crate::cli) struct Picture(Destination);

    impl Picture {
        /// Looks at the file that it will be, before anything is measured.
        pub(in crate::cli) fn find(path: &OsStr, overwrite: bool) -> Result<Self, Failure> {
            Destination::find(&Target::File { path: path.into(), overwrite }, &[]).map(Self)
        }

        /// Draws it.
        pub(in crate::cli) fn draw(self, report: &Report) -> Result<(), Failure> {
            let text = plot(report).map_err(|error| Failure::library("picture", &error))?;
            let mut output = self.0.open(&Progress::new(String::from("picture"), Direction::Compress))?;
            output.write_all(text.as_bytes()).map_err(|error| Failure::io("picture", &error))?;
            output.close()
        }
    }
}

#[cfg(not(feature = "plot"))]
mod built {
    use std::ffi::OsStr;

    use ulpack::stat::Report;

    use crate::cli::failure::Failure;

    /// There is none.
    pub(in crate::cli) enum Picture {}

    impl Picture {
        /// Says so.
        pub(in crate::cli) fn find(_: &OsStr, _: bool) -> Result<Self, Failure> {
            Err(Failure::about("--plot", "this ulp is built without pictures; build it with --features plot"))
        }

        /// Never comes to it.
        pub(in crate::cli) fn draw(self, _: &Report) -> Result<(), Failure> {
            match self {}
        }
    }
}

//! Remarks about a store, for the user to read once.

use crate::Work;

/// A remark about a store's name, about opening it, or about its work in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A tuning name of Tokyo Cabinet that is known and means nothing here.
    Ignored {
        /// The name, as it was written.
        name: String,
        /// The value, as it was written.
        value: String,
    },
    /// Recovery of a log found that not everything was as it had been written.
    Recovered {
        /// What it found and did.
        text: String,
    },
    /// Some records cannot be read. Items whose newest record may be among them are errors to read, until they are written again.
    Damaged {
        /// Which records, and where.
        text: String,
    },
    /// The snapshot of the index could not be used, so the store read its logs instead.
    IndexRebuilt {
        /// The file, and what is wrong with it.
        reason: String,
    },
    /// Work in the background has failed. The store goes on; the same work is not reported again until it has succeeded.
    Failed {
        /// The work.
        work: Work,
        /// The error.
        error: String,
    },
    /// Work in the background has succeeded after a failure.
    Succeeded {
        /// The work.
        work: Work,
    },
    /// The store refuses all writes from now on.
    WritesRefused {
        /// What failed.
        reason: String,
    },
}

impl Notice {
    /// What the user should know of a recovery, if it lost anything or found damage.
    pub(crate) fn of_recovery(report: &log::Recovery) -> Option<Notice> {
        let cuts = report.cuts.iter().map(|cut| {
            let (path, position, bytes) = (cut.path.display(), cut.position, cut.bytes);
            format!("{path}:{position}: cut {bytes} bytes: {}", cut.reason)
        });
        let damage = report
            .damage
            .iter()
            .map(|damage| format!("{}:{}: {}", damage.path.display(), damage.position, damage.reason));
        let missing = report
            .missing
            .iter()
            .map(|range| format!("offsets {} to {} are missing", range.start, range.end));
        let checkpoint = report
            .checkpoint_damage
            .iter()
            .map(|reason| format!("the checkpoint was not used: {reason}"));
        let text: Vec<String> = cuts.chain(damage).chain(missing).chain(checkpoint).collect();
        (!text.is_empty()).then(|| Notice::Recovered {
            text: text.join("; "),
        })
    }
}

impl std::fmt::Display for Notice {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Notice::Ignored { name, value } => {
                write!(out, "{name}={value} is Tokyo Cabinet's and has no effect here")
            }
            Notice::Recovered { text } => out.write_str(text),
            Notice::Damaged { text } => write!(
                out,
                "{text}; items that may be affected are refused until they are written again, or hikyaku log repair \
                 gives the records up"
            ),
            Notice::IndexRebuilt { reason } => {
                write!(
                    out,
                    "the index was rebuilt from the logs, which takes longer: {reason}"
                )
            }
            Notice::Failed { work, error } => write!(out, "{work} failed: {error}"),
            Notice::Succeeded { work } => write!(out, "{work} succeeds again"),
            Notice::WritesRefused { reason } => write!(
                out,
                "the store refuses writes until it is opened again, and serves reads: {reason}"
            ),
        }
    }
}

//! Graphics processors for task containers: none, unless the operator who starts the broker chooses some. Pure. Tests: below.

use std::fmt;
use std::str::FromStr;

use bollard::models::DeviceRequest;
use protocol::broker::Purpose;

/// Choice of graphics processors, written `none`, `all`, or as comma-separated ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Gpus {
    /// No graphics processor.
    #[default]
    None,
    /// All that the engine has.
    All,
    /// Ids as the driver names them: `0`, `GPU-…`, `MIG-…`.
    Ids(Vec<String>),
}

impl Gpus {
    /// The engine's device requests for a container. Only tasks get any, because containers that judge untrusted objects, verify, set up or
    /// test the barrier must not expose a kernel driver.
    pub fn requests(&self, purpose: Purpose) -> Option<Vec<DeviceRequest>> {
        let (count, ids) = match self {
            _ if purpose != Purpose::Task => return None,
            Gpus::None => return None,
            Gpus::All => (Some(-1), None),
            Gpus::Ids(ids) => (None, Some(ids.clone())),
        };
        let capabilities = Some(vec![vec!["gpu".to_owned()]]);
        Some(vec![DeviceRequest { count, device_ids: ids, capabilities, ..Default::default() }])
    }
}

impl FromStr for Gpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = |id: &str| {
            !id.is_empty() && id.len() <= 64 && id.chars().all(|it| it.is_ascii_alphanumeric() || "-:/".contains(it))
        };
        match text {
            "none" => Ok(Gpus::None),
            "all" => Ok(Gpus::All),
            ids if ids.split(',').all(|id| plain(id) && id != "none" && id != "all") => {
                Ok(Gpus::Ids(ids.split(',').map(str::to_owned).collect()))
            }
            _ => Err(format!("{text:?} names no GPUs: write none, all, or ids such as 0,1 or GPU-3a23c669")),
        }
    }
}

impl fmt::Display for Gpus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gpus::None => out.write_str("none"),
            Gpus::All => out.write_str("all"),
            Gpus::Ids(ids) => out.write_str(&ids.join(",")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_asked_for() {
        let asked = |text: &str| text.parse::<Gpus>().unwrap().requests(Purpose::Task);
        assert_eq!(asked("none"), None);
        let all = asked("all").unwrap();
        assert_eq!((all[0].count, &all[0].device_ids), (Some(-1), &None));
        let two = asked("0,GPU-3a23c669").unwrap();
        assert_eq!((two[0].count, two[0].device_ids.as_ref().unwrap().join(" ")), (None, "0 GPU-3a23c669".into()));
        for wrong in ["", "0,", "all,0", "a b", "../0", "none,1"] {
            assert!(wrong.parse::<Gpus>().unwrap_err().contains("write none, all"), "{wrong}");
        }
        assert_eq!("0,1".parse::<Gpus>().unwrap().to_string(), "0,1");
    }

    #[test]
    fn only_a_task_gets_any() {
        for purpose in [Purpose::Quarantine, Purpose::Verify, Purpose::Probe, Purpose::Setup] {
            assert_eq!(Gpus::All.requests(purpose), None, "{purpose:?}");
        }
    }
}

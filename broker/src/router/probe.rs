//! A look from the router's own place: what its firewall lets its user reach when no proxy is between. Tests: `tests/barrier/`.

use protocol::broker::{Problem, ProblemKind, RUNNER};

use super::shape::ROUTER_UID;
use crate::hardening;
use crate::name::ResourceKind;
use crate::service::Service;

/// A longer plan is nobody's.
const LONGEST: usize = 64 << 10;

impl Service {
    /// What the runner's probe says there, in a container as tight as a task's that is removed afterwards.
    pub async fn router_probe(&self, image: &str, plan: &str) -> Result<String, Problem> {
        if plan.len() > LONGEST {
            return Err(Problem::refused(format!("a plan of {} bytes; at most {LONGEST} are taken", plan.len())));
        }
        let holder =
            self.find(&self.names.router_part(ResourceKind::Holder), ResourceKind::Holder).await?.and_then(|it| it.id);
        let holder =
            holder.ok_or_else(|| Problem::new(ProblemKind::NotFound, "there is no router yet; set it up first"))?;
        let (image, runner) = self.container_image(image).await?;
        let fit = self.fittings(&image, runner, None).await?;
        let mut body = hardening::throw_away(&self.names, &fit, &[RUNNER, "probe", "try", plan])?;
        body.user = Some(format!("{ROUTER_UID}:{ROUTER_UID}"));
        // Name, resolver and settings of a namespace are its owner's.
        body.hostname = None;
        let host = body.host_config.get_or_insert_default();
        host.network_mode = Some(format!("container:{holder}"));
        (host.sysctls, host.dns, host.dns_options, host.dns_search, host.extra_hosts) = (None, None, None, None, None);
        self.thrown_away("outside", body).await
    }
}

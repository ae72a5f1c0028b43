//! `/allow` and `/deny` in a text: what this installation knows of the host, and further hosts beside the text's strongest word.
//! Who: somebody with write access to the code, as for every decision. Effect: rules of the router, once the task machine has taken it up.

use super::reader::Reader;
use super::words;
use crate::config::process::{Network, Repository};
use crate::effect::Trouble;
use crate::egress::overruled;
use domain::{Bar, Decision, Input, TaskId, Verb};
use protocol::router::Rule;

impl Reader {
    /// Feeds the hosts that a text names beside its strongest word, each as a decision of its own. `key` is the text's.
    pub(super) async fn feed_hosts(
        &self,
        entry: &Repository,
        id: TaskId,
        key: &str,
        text: &str,
        strongest: &Decision,
    ) -> Result<(), Trouble> {
        for (at, mut verb) in words::hosts(text, &strongest.verb).into_iter().enumerate() {
            self.look_up(entry, &mut verb).await?;
            let decision = Decision { verb, ..strongest.clone() };
            self.machine
                .feed(id, &format!("{key}+{at}"), Input::Decided { decision: Box::new(decision) }, None)
                .await?;
        }
        Ok(())
    }

    /// What this installation knows of a host that somebody names: the operator's word, and the repository's grants.
    pub(super) async fn look_up(&self, entry: &Repository, verb: &mut Verb) -> Result<(), Trouble> {
        match verb {
            Verb::Allow { bar, .. } if self.config.sandbox.network == Network::None => *bar = Some(Bar::NoNetwork),
            Verb::Allow { host, bar, .. } => {
                let denied = self.config.egress.denied();
                let over = Rule::parse(host).ok().and_then(|rule| overruled(&denied, &rule).map(Rule::to_string));
                *bar = over.map(|rule| Bar::Operator { rule });
            }
            Verb::Deny { host, kept } => {
                *kept = self.store.grants(&entry.key).await?.iter().any(|grant| grant.is_named_by(host));
            }
            _ => {}
        }
        Ok(())
    }
}

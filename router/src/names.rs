//! Synthetic addresses, and the (subnet, name) that each stands for.
//!
//! An address belongs to one subnet and one name until the subnet is closed, even if the policy changes, so that an address a client cached
//! is judged by the present rules. It is derived from subnet and name, so that a restarted router gives out the same ones. Bounded by the
//! address range and by a cap per subnet.
//! Tests: at the end of this file.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use protocol::router::SYNTHETIC;

/// The synthetic addresses of all subnets, by address and by name.
#[derive(Default)]
pub struct Names {
    by_address: HashMap<Ipv4Addr, (u32, Arc<str>)>,
    by_name: HashMap<u32, HashMap<Arc<str>, Ipv4Addr>>,
}

impl Names {
    /// The address of a name that has one.
    #[must_use]
    pub fn address(&self, subnet: u32, name: &str) -> Option<Ipv4Addr> {
        self.by_name.get(&subnet)?.get(name).copied()
    }

    /// Gives the name an address; none when the subnet has `cap` names already or the range is full.
    pub fn assign(&mut self, subnet: u32, name: &str, cap: usize) -> Option<Ipv4Addr> {
        if let Some(address) = self.address(subnet, name) {
            return Some(address);
        }
        let names = self.by_name.entry(subnet).or_default();
        let size = u32::try_from(SYNTHETIC.size()).ok()?;
        // The range's first and last address are not used, because some systems treat them as broadcast.
        if names.len() >= cap || self.by_address.len() >= (size - 2) as usize {
            return None;
        }
        let start = hash(subnet, name) % (size - 2);
        let free = (0..size - 2)
            .map(|step| Ipv4Addr::from(u32::from(SYNTHETIC.addr) + 1 + (start + step) % (size - 2)))
            .find(|address| !self.by_address.contains_key(address))?;
        let name: Arc<str> = name.into();
        names.insert(name.clone(), free);
        self.by_address.insert(free, (subnet, name));
        Some(free)
    }

    /// The name behind an address of this subnet; none for another subnet's address.
    #[must_use]
    pub fn name(&self, subnet: u32, address: Ipv4Addr) -> Option<Arc<str>> {
        self.by_address.get(&address).filter(|(owner, _)| *owner == subnet).map(|(_, name)| name.clone())
    }

    /// Frees all addresses of a subnet.
    pub fn forget(&mut self, subnet: u32) {
        for address in self.by_name.remove(&subnet).unwrap_or_default().into_values() {
            self.by_address.remove(&address);
        }
    }
}

/// FNV-1a. It has to be stable over restarts, but not hard to guess: guessing another subnet's address gains nothing.
fn hash(subnet: u32, name: &str) -> u32 {
    let bytes = subnet.to_be_bytes().into_iter().chain(name.bytes());
    bytes.fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_subnets_and_stays_until_it_is_forgotten() {
        let mut names = Names::default();
        let address = names.assign(1, "a.test", 10).unwrap();
        assert!(SYNTHETIC.contains(address));
        assert_eq!(names.assign(1, "a.test", 1), Some(address));
        assert_ne!(names.assign(2, "a.test", 10), Some(address));
        assert_eq!(names.name(1, address).as_deref(), Some("a.test"));
        assert_eq!(names.name(2, address), None);
        names.forget(1);
        assert_eq!(names.name(1, address), None);
        assert_eq!(names.assign(1, "a.test", 10), Some(address));
    }

    #[test]
    fn names_are_capped_and_never_share_an_address() {
        let mut names = Names::default();
        let mut seen = std::collections::HashSet::new();
        for n in 0..2000 {
            assert!(seen.insert(names.assign(7, &format!("n{n}.test"), 2000).unwrap()));
        }
        assert_eq!(names.assign(7, "one.more.test", 2000), None);
        assert!(names.assign(8, "one.more.test", 2000).is_some());
    }
}

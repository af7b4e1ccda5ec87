//! Is this address one of the open internet? Everything else needs a rule that says so.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is private, local, special or leads to one that is.
pub(crate) fn is_special(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_special_v4(v4),
        IpAddr::V6(v6) => is_special_v6(v6),
    }
}

fn is_special_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || first == 0
        // Reserved, broadcast included.
        || first >= 240
        // Shared by carriers.
        || (first == 100 && (64..128).contains(&second))
        // Protocol assignments, the former 6to4 relay, benchmarks.
        || (first == 192 && second == 0 && third == 0)
        || (first == 192 && second == 88 && third == 99)
        || (first == 198 && (18..20).contains(&second))
}

fn is_special_v6(address: Ipv6Addr) -> bool {
    if let Some(v4) = embedded(address) {
        return is_special_v4(v4);
    }
    let [first, second, ..] = address.segments();
    // Only 2000::/3 is assigned to the open internet; in it, documentation and Teredo are not of it.
    first & 0xe000 != 0x2000
        || (first == 0x2001 && second == 0x0db8)
        || (first == 0x2001 && second < 0x0200)
        || (first == 0x3fff && second < 0x1000)
}

/// The IPv4 address that packets to an IPv6 one end at.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let low = || {
        let [.., a, b] = segments;
        Ipv4Addr::from((u32::from(a) << 16) | u32::from(b))
    };
    match segments {
        // Mapped, translated and compatible forms.
        [0, 0, 0, 0, 0, 0xffff | 0, _, _] | [0, 0, 0, 0, 0xffff, 0, _, _] => Some(low()),
        // NAT64 by the well-known prefix. By the one for networks of one's own the address may stand elsewhere, so all
        // of those are special.
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Some(low()),
        // 6to4.
        [0x2002, a, b, ..] => Some(Ipv4Addr::from((u32::from(a) << 16) | u32::from(b))),
        _ => None,
    }
}

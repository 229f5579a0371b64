//! Echo requests and replies as bytes (RFC 792, RFC 4443). Pure.

/// What both messages begin with: type, code, checksum, identifier, sequence number.
const HEADER: usize = 8;

/// The requests of one probe to one address, which differ by their number only.
#[derive(Debug, Clone, Copy)]
pub(super) struct Echo {
    pub(super) v6: bool,
    /// A raw socket gives the IP header of IPv4 too, and replies to other programs.
    pub(super) raw: bool,
    /// On other than raw sockets the kernel puts its own in this place.
    pub(super) ident: u16,
    /// Begins the payload, as far as there is room, so that a late reply to another probe is not taken for one to
    /// this.
    pub(super) token: [u8; 8],
    /// Bytes of payload.
    pub(super) size: u16,
}

impl Echo {
    pub(super) fn request(&self, number: u16) -> Vec<u8> {
        let mut bytes = vec![if self.v6 { 128 } else { 8 }, 0, 0, 0];
        bytes.extend_from_slice(&self.ident.to_be_bytes());
        bytes.extend_from_slice(&number.to_be_bytes());
        bytes.extend(self.payload());
        // Over IPv6 the kernel sums, because the addresses belong to it.
        if !self.v6 {
            let sum = checksum(&bytes).to_be_bytes();
            bytes.splice(2..4, sum);
        }
        bytes
    }

    fn payload(&self) -> impl Iterator<Item = u8> {
        self.token.into_iter().chain(std::iter::repeat(b'Q')).take(usize::from(self.size))
    }

    /// The number of the request that this packet is the reply to, if it is one.
    pub(super) fn reply(&self, packet: &[u8]) -> Option<u16> {
        let packet = match (self.raw, self.v6) {
            (true, false) => packet.get(usize::from(packet.first()? & 0x0f) * 4..)?,
            _ => packet,
        };
        let (header, payload) = packet.split_at_checked(HEADER)?;
        let [kind, code, _, _, id_high, id_low, high, low] = *header else { return None };
        let reply = if self.v6 { 129 } else { 0 };
        if kind != reply || code != 0 {
            return None;
        }
        if self.raw && u16::from_be_bytes([id_high, id_low]) != self.ident {
            return None;
        }
        let same =
            payload.len() == usize::from(self.size) && payload.iter().copied().eq(self.payload());
        same.then(|| u16::from_be_bytes([high, low]))
    }
}

/// The sum of the internet (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for pair in bytes.chunks(2) {
        let high = pair.first().copied().unwrap_or(0);
        let low = pair.get(1).copied().unwrap_or(0);
        sum += u32::from(u16::from_be_bytes([high, low]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn echo(v6: bool, raw: bool, size: u16) -> Echo {
        Echo { v6, raw, ident: 0x1234, token: *b"token678", size }
    }

    /// The packet that a host sends back.
    fn answered(echo: &Echo, number: u16) -> Vec<u8> {
        let mut bytes = echo.request(number);
        bytes[0] = if echo.v6 { 129 } else { 0 };
        if echo.raw && !echo.v6 {
            let mut whole = vec![0; 24];
            whole[0] = 0x46;
            whole.extend(bytes);
            return whole;
        }
        bytes
    }

    #[test]
    fn requests_are_written_as_the_rfc_says() {
        let bytes = echo(false, false, 3).request(7);
        assert_eq!(&bytes[..2], [8, 0]);
        assert_eq!(&bytes[4..], [0x12, 0x34, 0, 7, b't', b'o', b'k']);
        // A message with its own sum in it sums to nothing.
        assert_eq!(checksum(&bytes), 0);
        assert_eq!(echo(true, true, 0).request(1), [128, 0, 0, 0, 0x12, 0x34, 0, 1]);
        assert_eq!(echo(false, false, 10).request(1)[8..], *b"token678QQ");
        // The example of RFC 1071.
        assert_eq!(checksum(&[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    #[test]
    fn replies_are_told_from_everything_else() {
        for (v6, raw) in [(false, false), (false, true), (true, false), (true, true)] {
            for size in [0, 5, 56, 1_400] {
                let ask = echo(v6, raw, size);
                let good = answered(&ask, 9);
                assert_eq!(ask.reply(&good), Some(9), "{ask:?}");
                // Our own request, which a raw socket hears on loopback.
                let start = if raw && !v6 { 24 } else { 0 };
                let mut own = good.clone();
                own[start] = if v6 { 128 } else { 8 };
                assert_eq!(ask.reply(&own), None);
                let mut other = good.clone();
                other[start + 4] ^= 1;
                assert_eq!(ask.reply(&other).is_some(), !raw, "another program's");
                assert_eq!(ask.reply(&good[..good.len() - 1]), None);
                if size > 0 {
                    let mut late = good.clone();
                    late[start + 8] ^= 1;
                    assert_eq!(ask.reply(&late), None, "another probe's");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..100),
            v6 in any::<bool>(),
            raw in any::<bool>(),
        ) {
            let _ = echo(v6, raw, 8).reply(&bytes);
        }

        #[test]
        fn changed_replies_never_panic(at in 0usize..40, byte in any::<u8>(), raw in any::<bool>()) {
            let ask = echo(false, raw, 8);
            let mut bytes = answered(&ask, 3);
            let length = bytes.len();
            bytes[at % length] = byte;
            let _ = ask.reply(&bytes);
        }
    }
}

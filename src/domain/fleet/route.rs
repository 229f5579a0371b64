//! Route classes: requests that one handler answers, as far as a path tells. `GET /cart/42?x=1` is
//! `GET /cart/*`.

/// Path segments that a class keeps; what follows is `/…`.
pub const MOST_SEGMENTS: usize = 8;

/// Writes the class of a method and a target as it stands in a log into `class`, which is emptied first.
pub fn class(method: Option<&[u8]>, target: &[u8], class: &mut Vec<u8>) {
    class.clear();
    class.extend_from_slice(method.unwrap_or(b"-"));
    class.push(b' ');
    let path = path(target);
    let mut from = 0;
    for (at, end) in memchr::memchr_iter(b'/', path).chain([path.len()]).enumerate() {
        let segment = &path[from..end];
        // What stands before the first slash is none: nothing, or a target that is no path, such as `*`.
        if at > MOST_SEGMENTS {
            class.extend_from_slice("…".as_bytes());
            return;
        }
        if is_one_of_many(segment) {
            class.push(b'*');
        } else {
            class.extend_from_slice(segment);
        }
        if end < path.len() {
            class.push(b'/');
        }
        from = end + 1;
    }
}

/// The path of a target: without `https://host:443` in front, as load balancers and HAProxy of HTTP/2
/// write it, and without query, fragment and parameters behind.
pub fn path(target: &[u8]) -> &[u8] {
    const SCHEMES: [&[u8]; 4] = [b"http://", b"https://", b"ws://", b"wss://"];
    let end = memchr::memchr3(b'?', b'#', b';', target).unwrap_or(target.len());
    let path = &target[..end];
    if path.first() == Some(&b'/') {
        return path;
    }
    match SCHEMES.iter().find_map(|scheme| path.strip_prefix(*scheme)) {
        Some(rest) => memchr::memchr(b'/', rest).map_or(b"/", |slash| &rest[slash..]),
        None => path,
    }
}

/// A number, an id, a hash: digits alone, or 8 and more hexadecimal digits, with or without dashes.
fn is_one_of_many(segment: &[u8]) -> bool {
    // Most segments are neither, and show it at once.
    let Some(first) = segment.first().filter(|first| first.is_ascii_hexdigit()) else {
        return false;
    };
    if first.is_ascii_digit() && segment.iter().all(u8::is_ascii_digit) {
        return true;
    }
    segment.len() >= 8 && segment.iter().all(|b| b.is_ascii_hexdigit() || *b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_varies_is_a_star() {
        let mut buffer = Vec::new();
        let mut of = |method: Option<&str>, target: &str| {
            class(method.map(str::as_bytes), target.as_bytes(), &mut buffer);
            String::from_utf8(buffer.clone()).unwrap()
        };
        let get = Some("GET");
        assert_eq!(of(get, "/cart/42?x=1"), "GET /cart/*");
        assert_eq!(of(get, "/"), "GET /");
        assert_eq!(of(get, "/a/"), "GET /a/");
        assert_eq!(of(get, "/u/0b1f7c2e-9a77-4d7e-8f00-1c2d3e4f5a6b/x"), "GET /u/*/x");
        assert_eq!(of(get, "/blob/deadbeef01"), "GET /blob/*");
        assert_eq!(of(get, "/blob/deadbee"), "GET /blob/deadbee");
        assert_eq!(of(get, "/v2/item1"), "GET /v2/item1");
        assert_eq!(of(get, "/x;jsessionid=1"), "GET /x");
        assert_eq!(of(get, "http://other.example:81/abs/7"), "GET /abs/*");
        assert_eq!(of(get, "https://other.example"), "GET /");
        assert_eq!(of(Some("OPTIONS"), "*"), "OPTIONS *");
        assert_eq!(of(Some("CONNECT"), "shop.example:443"), "CONNECT shop.example:443");
        assert_eq!(of(None, ""), "- ");
        assert_eq!(of(get, "/1/b/c/d/e/f/g/8/i/j"), "GET /*/b/c/d/e/f/g/*/…");
    }
}

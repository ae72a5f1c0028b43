//! Builds TLS hellos, valid and broken.

pub fn vec16(bytes: &[u8]) -> Vec<u8> {
    [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
}

pub fn extension(kind: u16, data: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &vec16(data)].concat()
}

pub fn sni(name: &str) -> Vec<u8> {
    extension(0, &vec16(&[&[0][..], &vec16(name.as_bytes())].concat()))
}

/// A ClientHello message with these extensions.
pub fn hello(extensions: &[Vec<u8>]) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 0x01, 1, 0]);
    body.extend(vec16(&extensions.concat()));
    [&[1, 0][..], &vec16(&body)].concat()
}

/// The message in records of at most `size` bytes.
pub fn records(message: &[u8], size: usize) -> Vec<u8> {
    message.chunks(size).flat_map(|part| [&[22, 3, 1][..], &vec16(part)].concat()).collect()
}

//! A balancer before the coordinators: connections in turn, to the other one where one does not answer.

use std::{net::Ipv4Addr, time::Duration};

use tokio::net::{TcpListener, TcpStream};

use super::net::COORDINATORS;

pub(crate) const PORT: u16 = 8080;
const PATIENCE: Duration = Duration::from_millis(500);

pub(crate) async fn serve(listener: TcpListener) {
    let mut turn = 0;
    while let Ok((stream, _)) = listener.accept().await {
        turn += 1;
        let [one, other] = COORDINATORS;
        let order = if turn % 2 == 0 { [one, other] } else { [other, one] };
        tokio::spawn(pass_on(stream, order));
    }
}

async fn pass_on(mut stream: TcpStream, order: [Ipv4Addr; 2]) {
    for coordinator in order {
        let connecting = TcpStream::connect((coordinator, PORT));
        if let Ok(Ok(mut behind)) = tokio::time::timeout(PATIENCE, connecting).await {
            // Either end may break off; then so does the other.
            let _ = tokio::io::copy_bidirectional(&mut stream, &mut behind).await;
            return;
        }
    }
}

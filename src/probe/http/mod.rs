//! Kind `http`.

use std::time::Duration;

use tokio::time::Instant;

use super::Context;
use super::dial::{self, Offer, Target};
use super::trace::{Failure, Trace};
use crate::domain::address::Host;
use crate::domain::check::HttpCheck;
use crate::domain::observation::{Class, Observation};

pub(super) async fn run(check: &HttpCheck, ctx: &Context, start: Instant, timeout: Duration) -> Observation {
    let mut trace = Trace::new(start);
    let failure = match tokio::time::timeout_at(start + timeout, reach(check, ctx, start + timeout, &mut trace)).await {
        Ok(Ok(())) => Failure::new(Class::Internal, "not built"),
        Ok(Err(failure)) => failure,
        Err(_) => dial::lookup_timed_out(check.url().host_str().unwrap_or_default(), ctx, &trace),
    };
    let _ = trace.stage();
    Observation {
        outcome: failure.class.side(),
        class: Some(failure.class),
        message: failure.message,
        phases_us: trace.phases(Instant::now()),
        status: None,
        http_version: None,
        address: trace.address.map(|ip| ip.to_string()),
        size: None,
        hops: Vec::new(),
        certificate: trace.certificate,
        assertions: Vec::new(),
        evidence: None,
    }
}

async fn reach(check: &HttpCheck, ctx: &Context, deadline: Instant, trace: &mut Trace) -> Result<(), Failure> {
    let host = Host::parse(check.url().host_str().unwrap_or_default()).map_err(|why| Failure::new(Class::Internal, why))?;
    let target = Target { host, port: check.url().port_or_known_default().unwrap_or(80), family: check.ip_family };
    let stream = dial::connect(&target, ctx, deadline, trace).await?;
    if check.url().scheme() == "https" {
        ctx.0.tls.handshake(stream, &target.host, &check.tls, Offer::Any, ctx, trace).await?;
    }
    Ok(())
}

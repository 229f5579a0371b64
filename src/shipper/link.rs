//! One batch to the coordinator, and what its answer means.

use reqwest::{Method, StatusCode, header};
use serde::Deserialize;
use url::form_urlencoded;
use uuid::Uuid;

use crate::{
    config::{ShipConfig, fields_by_keys},
    uplink::{self, Patience, Timing, Trouble, Uplink},
};

/// Where batches go, and as whom.
#[derive(Debug)]
pub struct Link {
    uplink: Uplink,
    /// With what is the same for every batch.
    path: String,
}

/// What the coordinator says of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It has the file up to here now.
    Taken { next: u64, accepted: u64, rejected: u64 },
    /// It has the file up to here only, or further than we thought: go on from there.
    Elsewhere { next: u64 },
}

#[derive(Deserialize)]
struct Taken {
    next_offset: u64,
    accepted: u64,
    rejected: u64,
}

#[derive(Deserialize)]
struct Refusal {
    next_offset: Option<u64>,
    error: RefusalWords,
}

#[derive(Deserialize)]
struct RefusalWords {
    message: String,
}

impl Link {
    pub fn new(config: &ShipConfig) -> anyhow::Result<Self> {
        let timing = config.timing;
        let uplink = Uplink::new(
            &config.coordinator_url,
            &config.token,
            config.insecure_http,
            uplink::roots(config.ca_file.as_deref())?,
            concat!("quorate-ship/", env!("CARGO_PKG_VERSION")),
            Timing { request: timing.request, backoff: timing.backoff, refused: timing.refused },
        )?;
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("source", &config.source).append_pair("role", config.role.as_str());
        let map = fields_by_keys(&config.map).map_err(anyhow::Error::msg)?;
        let mapping = (!map.is_empty()).then(|| serde_json::Value::Object(map).to_string());
        let others = [
            ("format", &config.format),
            ("log_format", &config.log_format),
            ("mapping", &mapping),
            ("tz", &config.tz),
        ];
        for (name, value) in others.into_iter().filter_map(|(n, v)| Some((n, v.as_ref()?))) {
            query.append_pair(name, value);
        }
        let fleet: String = form_urlencoded::byte_serialize(config.fleet.as_bytes()).collect();
        // A path has no `+` for a blank.
        let fleet = fleet.replace('+', "%20");
        let path = format!("api/v1/fleets/{fleet}/logs?{}", query.finish());
        Ok(Self { uplink, path })
    }

    pub fn patience(&self) -> Patience {
        self.uplink.patience()
    }

    /// Sends bytes of a file that begin at `offset`. `name`: what the file is called, if it is
    /// one. `end`: the file ends with them, and its last line
    /// counts as it is; otherwise a line without its end is left for the next batch.
    pub async fn send(
        &self,
        file: Uuid,
        name: Option<&str>,
        offset: u64,
        batch: &[u8],
        end: bool,
    ) -> Result<Answer, Trouble> {
        let end = if end { "&end=true" } else { "" };
        let name = name.map_or_else(String::new, |name| {
            let name: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
            format!("&name={name}")
        });
        let packed = zstd::encode_all(batch, 1).map_err(|e| Trouble::Other(e.to_string()))?;
        let request = self
            .uplink
            .request(
                Method::POST,
                &format!("{}&file={file}&offset={offset}{end}{name}", self.path),
            )?
            .header(header::CONTENT_TYPE, "text/plain")
            .header(header::CONTENT_ENCODING, "zstd")
            .body(packed);
        let answer = self.uplink.ask(request).await?;
        let (status, trouble) = (answer.status(), Trouble::of(&answer));
        let body = self.uplink.body(answer).await?;
        if status == StatusCode::OK {
            // Only a coordinator's own answer settles: a captive portal says 200 too.
            let taken: Taken = serde_json::from_slice(&body)
                .map_err(|_| Trouble::Other("what takes the lines is not a coordinator".into()))?;
            let Taken { next_offset: next, accepted, rejected } = taken;
            return Ok(Answer::Taken { next, accepted, rejected });
        }
        let refusal: Option<Refusal> = serde_json::from_slice(&body).ok();
        if status == StatusCode::CONFLICT
            && let Some(next) = refusal.as_ref().and_then(|refusal| refusal.next_offset)
        {
            return Ok(Answer::Elsewhere { next });
        }
        let words = refusal.map(|refusal| refusal.error.message);
        Err(match (trouble, words) {
            // These have to be mended by people, who need the coordinator's words.
            (Trouble::Unreadable | Trouble::Other(_), Some(words)) => {
                Trouble::Other(format!("the coordinator refuses ({status}): {words}"))
            }
            (trouble, _) => trouble,
        })
    }
}

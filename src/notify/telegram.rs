//! Telegram, by a bot.

use serde_json::{Value, json};
use url::Url;

use super::{
    chat::{cut, plain},
    message::Message,
};
use crate::domain::channel::TelegramConfig;

/// Telegram takes 4,096 characters after its markup is read.
const TEXT: usize = 3_300;

/// `…/bot{token}/sendMessage`; none when the token does not fit into an address.
pub(super) fn address(config: &TelegramConfig, token: &str) -> Option<Url> {
    config.server.join(&format!("./bot{token}/sendMessage")).ok()
}

/// The JSON that is posted.
pub(super) fn body(config: &TelegramConfig, message: &Message) -> Value {
    let text = cut(&plain(message), TEXT);
    let links = message.links.iter().filter(|(_, url)| url.len() <= 500);
    let links: Vec<String> =
        links.map(|(label, url)| format!("<a href=\"{}\">{label}</a>", escape(url))).collect();
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let mut html = format!("<b>{}</b>\n{}", escape(first), escape(rest));
    if !links.is_empty() {
        html = format!("{html}\n\n{}", links.join(" · "));
    }
    let mut body = json!({
        "chat_id": config.chat,
        "text": html,
        "parse_mode": "HTML",
        "link_preview_options": { "is_disabled": true },
    });
    if let Some(thread) = config.thread {
        body["message_thread_id"] = thread.into();
    }
    body
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

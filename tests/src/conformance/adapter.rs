//! Does the wire adapter say and hear what the reference's did? (part 15)

mod expect;
pub mod meter;
pub mod retry;
pub mod server;
pub mod wire;

use anyhow::Context;
use hames_agent::router::failure_of;
use hames_types::fault::Fault;
use hames_types::json::{Json, JsonMap};

use super::case::Case;
use super::outcome::{Difference, Outcome};
use expect::Instead;
use server::Received;
use wire::Heard;

/// Headers of the connection, not of the call.
const OF_THE_CONNECTION: &[&str] = &["host", "connection", "content-length", "accept-encoding"];

/// How the reference names the headers that ours name `x-hames-…` (R-DS-2).
const RECORDED_PREFIX: &str = "x-deepseek-harness-";

/// The recorded wall clock.
fn now_ms(case: &Case<'_>) -> anyhow::Result<u64> {
    case.document
        .get("now")
        .and_then(Json::as_u64)
        .context("the file has no `now`")
}

/// A request on the wire.
///
/// # Errors
/// If the case doesn't say what it must.
pub fn encode(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let answer = serde_json::json!({
        "status": 200,
        "body": "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    });
    let heard = wire::call(
        case.field("config"),
        case.field("options"),
        &answer,
        &Json::Null,
        now_ms(case)?,
    )?;
    if let Some(failure) = case.optional("failure") {
        let outcome = Outcome::compare(failure, &failure_json(heard.failure.as_ref()));
        return Ok(outcome.within(".failure"));
    }
    let [received] = heard.requests.as_slice() else {
        return Ok(wrong_count(1, heard.requests.len()));
    };
    let expected = with_our_names(case.field("request"));
    let outcome = Outcome::compare(&expected, &request_json(received)?).within(".request");
    let compact = serde_json::to_string(&serde_json::from_str::<Json>(&received.body)?)?;
    Ok(Outcome::first_of([
        outcome,
        key_order(&expected, received)?,
        same_text(&compact, &received.body),
    ]))
}

fn request_json(received: &Received) -> anyhow::Result<Json> {
    let headers: JsonMap = received
        .headers
        .iter()
        .filter(|(name, _)| !OF_THE_CONNECTION.contains(&name.as_str()))
        .map(|(name, value)| {
            let value = if name == "user-agent" {
                shape_of(value)
            } else {
                value.clone()
            };
            (name.clone(), Json::from(value))
        })
        .collect();
    Ok(serde_json::json!({
        "method": received.method,
        "path": received.path,
        "headers": headers,
        "body": serde_json::from_str::<Json>(&received.body)?,
    }))
}

/// `hames/1.2.3 (+https://…)` as the data writes it.
fn shape_of(user_agent: &str) -> String {
    let shaped = user_agent.split_once('/').and_then(|(product, rest)| {
        let (version, url) = rest.split_once(" (+")?;
        let whole = [product, version, url.strip_suffix(')')?];
        whole.iter().all(|part| !part.is_empty()).then_some(())
    });
    match shaped {
        Some(()) => "<product>/<version> (+<url>)".to_owned(),
        None => user_agent.to_owned(),
    }
}

fn with_our_names(request: &Json) -> Json {
    let mut request = request.clone();
    if let Some(headers) = request.get_mut("headers").and_then(Json::as_object_mut) {
        *headers = std::mem::take(headers)
            .into_iter()
            .map(|(name, value)| match name.strip_prefix(RECORDED_PREFIX) {
                Some(rest) => (format!("x-hames-{rest}"), value),
                None => (name, value),
            })
            .collect();
    }
    request
}

/// The body's fields in the recorded order: servers cache by prefix.
fn key_order(expected: &Json, received: &Received) -> anyhow::Result<Outcome> {
    let keys = |body: &Json| -> Vec<Json> {
        let fields = body.as_object().into_iter().flatten();
        fields.map(|(key, _)| Json::from(key.as_str())).collect()
    };
    let wanted = keys(expected.get("body").unwrap_or(&Json::Null));
    let got = keys(&serde_json::from_str(&received.body)?);
    Ok(Outcome::compare(&Json::from(wanted), &Json::from(got)).within(".request.body{}"))
}

fn same_text(compact: &str, sent: &str) -> Outcome {
    Outcome::compare(&Json::from(compact), &Json::from(sent)).within(".request.body (text)")
}

/// A response off the wire.
///
/// # Errors
/// If the case doesn't say what it must.
pub fn decode(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let options = serde_json::json!({
        "provider": "deepseek",
        "model": "deepseek-v4-flash",
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": "hi" }] }],
    });
    let heard = wire::call(
        case.field("config"),
        &options,
        case.field("response"),
        case.field("consumer"),
        now_ms(case)?,
    )?;
    let requests = case.field("requests").as_u64().unwrap_or(1);
    if heard.requests.len() as u64 != requests {
        return Ok(wrong_count(requests, heard.requests.len()));
    }
    if heard.stopped != (case.field("consumerStopped") == &Json::Bool(true)) {
        return Ok(Outcome::Failed(Difference::problem(&anyhow::anyhow!(
            "the consumer stopped elsewhere"
        ))));
    }
    match expect::decision(&case.value) {
        None => Ok(as_recorded(case, &heard)),
        Some((rule, instead)) => Ok(match by_decision(case, &heard, &instead) {
            Outcome::Passed => Outcome::Deviating(rule),
            failed @ (Outcome::Failed(_) | Outcome::Waiting(_) | Outcome::Deviating(_)) => failed,
        }),
    }
}

fn as_recorded(case: &Case<'_>, heard: &Heard) -> Outcome {
    Outcome::first_of([
        Outcome::compare(case.field("chunks"), &Json::from(heard.chunks.clone())).within(".chunks"),
        Outcome::compare(case.field("failure"), &failure_json(heard.failure.as_ref())).within(".failure"),
    ])
}

/// What the decision says must have happened instead.
fn by_decision(case: &Case<'_>, heard: &Heard, instead: &Instead) -> Outcome {
    let failure = failure_json(heard.failure.as_ref());
    match instead {
        Instead::Fail(codes) => Outcome::first_of([
            one_of(codes, &failure),
            Outcome::compare(
                &before_the_end(case.field("chunks"), heard.chunks.len()),
                &Json::from(heard.chunks.clone()),
            )
            .within(".chunks"),
        ]),
        Instead::KeepStatus(codes) => {
            let status = case.field("response").get("status").unwrap_or(&Json::Null);
            let kept = failure.get("status").unwrap_or(&Json::Null);
            Outcome::first_of([
                one_of(codes, &failure),
                Outcome::compare(status, kept).within(".failure.status"),
            ])
        }
        Instead::WaitMs(wait_ms) => {
            let mut expected = case.field("failure").clone();
            if let Some(fields) = expected.as_object_mut() {
                fields.insert("providerRetryAfterMs".to_owned(), Json::from(*wait_ms));
            }
            Outcome::compare(&expected, &failure).within(".failure")
        }
        Instead::KeepIdentity => {
            let expected = with_kept_identity(case.field("chunks"));
            Outcome::compare(&expected, &Json::from(heard.chunks.clone())).within(".chunks")
        }
        Instead::ClampUsage => {
            let expected = with_clamped_usage(case.field("chunks"));
            Outcome::compare(&expected, &Json::from(heard.chunks.clone())).within(".chunks")
        }
    }
}

fn one_of(codes: &[&str], failure: &Json) -> Outcome {
    let code = failure.get("code").and_then(Json::as_str);
    match code {
        Some(code) if codes.is_empty() || codes.contains(&code) => Outcome::Passed,
        Some(_) | None => Outcome::Failed(Difference {
            path: ".failure.code".to_owned(),
            expected: format!("one of {codes:?}"),
            got: format!("{code:?}"),
        }),
    }
}

/// What was delivered before the recorded answer was closed: a failing answer closes no block and says no usage.
fn before_the_end(chunks: &Json, at_most: usize) -> Json {
    let open = chunks.as_array().into_iter().flatten().take_while(|chunk| {
        let kind = chunk.get("type").and_then(Json::as_str);
        !matches!(kind, Some("block-end" | "usage" | "finish"))
    });
    // A failure in the middle comes before what the recorded adapter went on to read.
    Json::from(open.take(at_most).cloned().collect::<Vec<Json>>())
}

/// Ids and names of a call's block, once said, stay.
fn with_kept_identity(chunks: &Json) -> Json {
    let mut known: Vec<(Json, Json, Json)> = Vec::new();
    let mut kept = chunks.clone();
    for chunk in kept.as_array_mut().into_iter().flatten() {
        let index = chunk.get("index").cloned().unwrap_or_default();
        let is_end = chunk.get("type").and_then(Json::as_str) == Some("block-end");
        let place = if is_end {
            chunk.get_mut("block")
        } else {
            Some(chunk)
        };
        let Some(call) = place
            .and_then(Json::as_object_mut)
            .filter(|call| call.contains_key("id"))
        else {
            continue;
        };
        let at = known
            .iter()
            .position(|(block, _, _)| *block == index)
            .unwrap_or_else(|| {
                known.push((index, Json::from(""), Json::Null));
                known.len() - 1
            });
        let Some((_, id, name)) = known.get_mut(at) else {
            continue;
        };
        for (key, value) in [("id", id), ("name", name)] {
            match call.get(key) {
                Some(Json::String(said)) if !said.is_empty() => *value = Json::from(said.as_str()),
                _ if value.is_null() => drop(call.shift_remove(key)),
                _ => drop(call.insert(key.to_owned(), value.clone())),
            }
        }
    }
    kept
}

fn with_clamped_usage(chunks: &Json) -> Json {
    let mut clamped = chunks.clone();
    for chunk in clamped.as_array_mut().into_iter().flatten() {
        let counts = chunk.get_mut("usage").and_then(Json::as_object_mut);
        for (_, count) in counts.into_iter().flatten() {
            if count.as_f64().is_some_and(|count| count < 0.0) {
                *count = Json::from(0);
            }
        }
    }
    clamped
}

fn failure_json(fault: Option<&Fault>) -> Json {
    let failure = fault.map(failure_of);
    failure
        .and_then(|failure| serde_json::to_value(failure).ok())
        .unwrap_or_default()
}

fn wrong_count(expected: u64, got: usize) -> Outcome {
    Outcome::Failed(Difference {
        path: ".requests".to_owned(),
        expected: expected.to_string(),
        got: got.to_string(),
    })
}

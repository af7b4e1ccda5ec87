//! Where can a plugin's requests go? A server on one loopback address stands for the world, one on another for what is
//! forbidden, and the resolver says what the test says.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hames_plugin::{Grant, HttpRule, PluginSpec, Random, Scheme, Secret};
use hames_sandbox_tests::guests;
use hames_sandbox_tests::home::{Home, call, first_tool, quiet};
use hames_types::id::PluginId;
use hames_types::json::Json;
use hames_types::port::tool::Tool;
use parking_lot::Mutex;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A server that answers by the path and keeps what it was asked.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(host: &str, answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind((host, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&asked);
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = Vec::new();
            let mut piece = [0; 4096];
            while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut piece).await {
                    Ok(0) | Err(_) => break,
                    Ok(size) => bytes.extend(piece.iter().take(size)),
                }
            }
            let request = String::from_utf8_lossy(&bytes).into_owned();
            let text = answer(&request);
            kept.lock().push(request);
            drop(stream.write_all(text.as_bytes()).await);
        }
    });
    Server { address, asked, task }
}

fn ok(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn rule(host: &str, port: u16, private: bool) -> HttpRule {
    HttpRule {
        scheme: Scheme::Http,
        host: host.into(),
        port,
        methods: Vec::new(),
        path_prefix: "/v1".into(),
        allow_private: private,
    }
}

async fn fetcher(home: &Home, http: Vec<HttpRule>, secrets: Vec<Secret>) -> Arc<dyn Tool> {
    let mut spec = PluginSpec::new(PluginId::new("fetch"), guests::wasip2("fetch").unwrap());
    spec.grant = Grant {
        http,
        secrets,
        random: Some(Random::Seeded(1)),
        ..Grant::default()
    };
    spec.limits.call = Duration::from_secs(15);
    spec.limits.response_bytes = 100_000;
    first_tool(&home.sandbox.load(spec).await.unwrap()).unwrap()
}

async fn fetch(tool: &Arc<dyn Tool>, arguments: Json) -> Result<String, String> {
    tool.execute(&call(tool, arguments), &quiet())
        .await
        .map(|output| output.content.joined_text())
        .map_err(|fault| fault.code().unwrap_or("?").to_owned())
}

fn get(authority: &str, path: &str) -> Json {
    json!({ "scheme": "http", "authority": authority, "path": path })
}

#[tokio::test]
async fn only_what_a_rule_names_is_reached() {
    let server = serve("127.0.0.1", |_| ok("hello")).await;
    let port = server.address.port();
    let home = Home::new().unwrap();
    home.names.set("api.test", vec![vec![server.address]]);
    home.names.set("other.test", vec![vec![server.address]]);
    let tool = fetcher(&home, vec![rule("api.test", port, true)], Vec::new()).await;
    let named = format!("api.test:{port}");
    assert_eq!(fetch(&tool, get(&named, "/v1/x")).await.unwrap(), "200 hello");
    assert_eq!(
        fetch(&tool, get(&format!("API.TEST:{port}"), "/v1"))
            .await
            .unwrap(),
        "200 hello"
    );
    let before = server.asked.lock().len();
    for refused in [
        get(&format!("other.test:{port}"), "/v1/x"),
        get(&format!("127.0.0.1:{port}"), "/v1/x"),
        get(&format!("localhost:{port}"), "/v1/x"),
        get(&format!("[::ffff:127.0.0.1]:{port}"), "/v1/x"),
        get(&format!("2130706433:{port}"), "/v1/x"),
        get(&format!("0x7f.1:{port}"), "/v1/x"),
        get(&format!("api.test.:{port}"), "/v1/x"),
        get(&format!("api.test@127.0.0.1:{port}"), "/v1/x"),
        get(&format!("user@{named}"), "/v1/x"),
        get("api.test:1", "/v1/x"),
        get("api.test", "/v1/x"),
        get(&named, "/"),
        get(&named, "/v10"),
        get(&named, "/v1/../admin"),
        get(&named, "/v1/%2e%2e/admin"),
        get(&named, "/v1/%252e%252e/admin"),
        get(&named, "/v1%2fadmin"),
        get(&named, "/v1/..;/admin"),
        get(&named, "/v1/\\..\\admin"),
        json!({ "scheme": "https", "authority": named, "path": "/v1/x" }),
        json!({ "scheme": "ftp", "authority": named, "path": "/v1/x" }),
        json!({ "scheme": "http", "authority": named, "path": "/v1/x", "method": "POST", "body": "x" }),
        json!({ "scheme": "http", "authority": named, "path": "/v1/x", "method": "CONNECT" }),
        json!({ "scheme": "http", "authority": named, "path": "/v1/x", "method": "TRACE" }),
    ] {
        let got = fetch(&tool, refused.clone()).await;
        assert!(got.is_err(), "{refused} gave {got:?}");
    }
    assert_eq!(
        server.asked.lock().len(),
        before,
        "nothing of it left this process"
    );
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused() {
    let inside = serve("127.0.0.2", |_| ok("inside")).await;
    let port = inside.address.port();
    let home = Home::new().unwrap();
    let outside: SocketAddr = format!("93.184.215.14:{port}").parse().unwrap();
    let mut hosts = Vec::new();
    for (name, answers) in [
        ("inside.test", vec![inside.address]),
        ("both.test", vec![outside, inside.address]),
        (
            "metadata.test",
            vec![format!("169.254.169.254:{port}").parse().unwrap()],
        ),
        (
            "mapped.test",
            vec![format!("[::ffff:127.0.0.2]:{port}").parse().unwrap()],
        ),
        (
            "nat.test",
            vec![format!("[64:ff9b::7f00:2]:{port}").parse().unwrap()],
        ),
        (
            "six.test",
            vec![format!("[2002:7f00:2::]:{port}").parse().unwrap()],
        ),
        // The prefix for one's own network, with 127.0.0.2 where a prefix of 48 bits has it.
        (
            "local-nat.test",
            vec![
                format!("[64:ff9b:1:7f00:0:200:5db8:d70e]:{port}")
                    .parse()
                    .unwrap(),
            ],
        ),
        ("local.test", vec![format!("[fe80::1]:{port}").parse().unwrap()]),
        ("unique.test", vec![format!("[fd00::1]:{port}").parse().unwrap()]),
        ("zero.test", vec![format!("0.0.0.0:{port}").parse().unwrap()]),
        ("shared.test", vec![format!("100.64.0.1:{port}").parse().unwrap()]),
    ] {
        home.names.set(name, vec![answers]);
        hosts.push(name);
    }
    // An address in the rule itself is no grant of private addresses either, in whatever form.
    hosts.extend([
        "127.0.0.2",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.2]",
        "[::127.0.0.2]",
        "[::ffff:0:127.0.0.2]",
        "[64:ff9b::127.0.0.2]",
        "[2002:7f00:2::1]",
        "[2001::1]",
        "[fe80::1]",
        "[fec0::1]",
        "[fc00::1]",
        "[ff02::1]",
        "[5f00::1]",
        "[100::1]",
        "[2001:db8::1]",
        "0.0.0.0",
        "10.1.2.3",
        "172.31.0.1",
        "192.168.1.1",
        "192.0.0.8",
        "198.18.0.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
    ]);
    let rules = hosts.iter().map(|host| rule(host, port, false)).collect();
    let tool = fetcher(&home, rules, Vec::new()).await;
    for host in hosts {
        let got = fetch(&tool, get(&format!("{host}:{port}"), "/v1/x")).await;
        assert_eq!(got, Err("DestinationIpProhibited".to_owned()), "{host}");
    }
    assert!(inside.asked.lock().is_empty());
}

/// The name answers with an allowed address when it is looked at, and with another one afterwards.
#[tokio::test]
async fn a_name_that_changes_its_mind_gains_nothing() {
    let good = serve("127.0.0.1", |_| ok("good")).await;
    let port = good.address.port();
    let home = Home::new().unwrap();
    let bad: SocketAddr = format!("127.0.0.2:{port}").parse().unwrap();
    home.names.set("api.test", vec![vec![good.address], vec![bad]]);
    let tool = fetcher(&home, vec![rule("api.test", port, true)], Vec::new()).await;
    // One request, one question: what was checked is what is connected to.
    assert_eq!(
        fetch(&tool, get(&format!("api.test:{port}"), "/v1/x"))
            .await
            .unwrap(),
        "200 good"
    );
    assert_eq!(good.asked.lock().len(), 1);
}

#[tokio::test]
async fn a_redirect_is_checked_like_any_request() {
    let inside = serve("127.0.0.2", |_| ok("inside")).await;
    let target = format!("http://{}/v1/x", inside.address);
    let server = serve("127.0.0.1", move |_| {
        format!("HTTP/1.1 302 Found\r\nlocation: {target}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    })
    .await;
    let port = server.address.port();
    let home = Home::new().unwrap();
    home.names.set("api.test", vec![vec![server.address]]);
    let tool = fetcher(&home, vec![rule("api.test", port, true)], Vec::new()).await;
    let mut asked = get(&format!("api.test:{port}"), "/v1/x");
    asked["follow"] = json!(5);
    assert_eq!(fetch(&tool, asked).await, Err("HttpRequestDenied".to_owned()));
    assert!(inside.asked.lock().is_empty());
}

/// Each is one of the call's requests, and those are counted.
#[tokio::test]
async fn redirects_without_end_end() {
    let own = Arc::<Mutex<String>>::default();
    let target = Arc::clone(&own);
    let server = serve("127.0.0.1", move |_| {
        let target = target.lock().clone();
        format!("HTTP/1.1 302 Found\r\nlocation: {target}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    })
    .await;
    let port = server.address.port();
    *own.lock() = format!("http://api.test:{port}/v1/x");
    let home = Home::new().unwrap();
    home.names.set("api.test", vec![vec![server.address]]);
    let tool = fetcher(&home, vec![rule("api.test", port, true)], Vec::new()).await;
    let mut asked = get(&format!("api.test:{port}"), "/v1/x");
    asked["follow"] = json!(1_000);
    assert_eq!(fetch(&tool, asked).await, Err("HttpRequestDenied".to_owned()));
    assert_eq!(
        server.asked.lock().len(),
        hames_plugin::Limits::default().requests
    );
}

#[tokio::test]
async fn a_secret_goes_out_and_does_not_come_back() {
    let secret = "sk-0123456789abcdef";
    let server = serve("127.0.0.1", |request| {
        let line = request
            .lines()
            .find(|line| line.starts_with("authorization"))
            .unwrap_or("none");
        if request.contains("/v1/echo") {
            ok(line)
        } else {
            ok("fine")
        }
    })
    .await;
    let port = server.address.port();
    let home = Home::new().unwrap();
    home.names.set("api.test", vec![vec![server.address]]);
    home.names.set("other.test", vec![vec![server.address]]);
    let secrets = vec![Secret {
        header: "authorization".into(),
        value: format!("Bearer {secret}"),
        hosts: vec!["api.test".into()],
    }];
    let rules = vec![rule("api.test", port, true), rule("other.test", port, true)];
    let tool = fetcher(&home, rules, secrets).await;
    let named = format!("api.test:{port}");
    assert_eq!(fetch(&tool, get(&named, "/v1/x")).await.unwrap(), "200 fine");
    assert!(server.asked.lock()[0].contains(secret));
    assert_eq!(
        fetch(&tool, get(&named, "/v1/echo")).await,
        Err("BODY".to_owned())
    );
    // Another host doesn't get it, and the guest can't set the header itself.
    assert_eq!(
        fetch(&tool, get(&format!("other.test:{port}"), "/v1/echo"))
            .await
            .unwrap(),
        "200 none"
    );
    let mut own = get(&named, "/v1/x");
    own["headers"] = json!([["authorization", "Bearer mine"]]);
    assert_eq!(fetch(&tool, own).await, Err("HEADER".to_owned()));
}

/// A server that repeats a secret in a place it wasn't asked for it: what came of it.
async fn echoed(value: &str, answer: String) -> Result<String, String> {
    let server = serve("127.0.0.1", move |_| answer.clone()).await;
    let home = Home::new().unwrap();
    home.names.set("api.test", vec![vec![server.address]]);
    let secrets = vec![Secret {
        header: "x-key".into(),
        value: value.to_owned(),
        hosts: vec!["api.test".into()],
    }];
    let port = server.address.port();
    let tool = fetcher(&home, vec![rule("api.test", port, true)], secrets).await;
    let got = fetch(&tool, get(&format!("api.test:{port}"), "/v1/x")).await;
    assert!(server.asked.lock().iter().all(|request| request.contains(value)));
    got
}

#[tokio::test]
async fn a_secret_comes_back_in_no_part_of_an_answer() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n";
    const CHUNKED: &str = "transfer-encoding: chunked\r\ntrailer: x-end\r\n";
    let secret = "sk-0123456789abcdef";
    for (place, answer) in [
        ("a header", format!("{HEAD}x-echo: you said {secret}\r\n\r\nfine")),
        ("a header's name", format!("{HEAD}x-{secret}: yes\r\n\r\nfine")),
        ("the body's end", format!("{HEAD}\r\nyou said {secret}")),
        (
            "two pieces",
            format!("{HEAD}{CHUNKED}\r\n8\r\n..sk-012\r\nd\r\n3456789abcdef\r\n0\r\n\r\n"),
        ),
        (
            "a piece for each letter",
            format!(
                "{HEAD}{CHUNKED}\r\n{}0\r\n\r\n",
                secret
                    .chars()
                    .map(|letter| format!("1\r\n{letter}\r\n"))
                    .collect::<String>()
            ),
        ),
        (
            "a trailer",
            format!("{HEAD}{CHUNKED}\r\n4\r\nfine\r\n0\r\nx-end: {secret}\r\n\r\n"),
        ),
        (
            "a trailer's name",
            format!("{HEAD}{CHUNKED}\r\n4\r\nfine\r\n0\r\nx-{secret}: yes\r\n\r\n"),
        ),
    ] {
        let got = echoed(secret, answer).await;
        assert!(got.is_err(), "{place}: {got:?}");
    }
    // Of several words each is one.
    let cookie = "session=0123456789; theme=0";
    let got = echoed(cookie, ok("you are session=0123456789; welcome")).await;
    assert!(got.is_err(), "{got:?}");
    // What isn't a secret comes through, the trailers too.
    let answer = format!("{HEAD}{CHUNKED}\r\n4\r\nfine\r\n0\r\nx-end: yes\r\n\r\n");
    assert_eq!(echoed(secret, answer).await.unwrap(), "200 fine\nx-end: yes");
    let got = echoed("Authenticated key-0123456789", ok("Authenticated")).await;
    assert_eq!(got.unwrap(), "200 Authenticated");
}

/// A server that says nothing, or a byte at a time: the call's deadline holds, and the connection goes with the call.
#[tokio::test]
async fn a_server_that_keeps_a_call_waiting_loses_it() {
    for begins in ["", "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nx"] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(begins.as_bytes()).await.unwrap();
            let mut piece = [0; 4096];
            // Until the other side is gone.
            while !matches!(stream.read(&mut piece).await, Ok(0) | Err(_)) {}
        });
        let home = Home::new().unwrap();
        home.names.set("api.test", vec![vec![address]]);
        let rules = vec![rule("api.test", address.port(), true)];
        let mut spec = PluginSpec::new(PluginId::new("fetch"), guests::wasip2("fetch").unwrap());
        spec.grant.http = rules;
        spec.grant.random = Some(Random::Seeded(1));
        spec.limits.call = Duration::from_millis(300);
        let tool = first_tool(&home.sandbox.load(spec).await.unwrap()).unwrap();
        let asked = get(&format!("api.test:{}", address.port()), "/v1/x");
        assert_eq!(fetch(&tool, asked).await, Err("PLUGIN_DEADLINE".to_owned()));
        tokio::time::timeout(Duration::from_secs(10), server)
            .await
            .expect("the connection stays open")
            .unwrap();
    }
}

#[tokio::test]
async fn headers_smuggle_nothing() {
    let server = serve("127.0.0.1", |_| ok("hello")).await;
    let port = server.address.port();
    let home = Home::new().unwrap();
    home.names.set("api.test", vec![vec![server.address]]);
    let tool = fetcher(&home, vec![rule("api.test", port, true)], Vec::new()).await;
    for (name, value) in [
        ("host", "inside.test"),
        ("Host", "inside.test"),
        ("transfer-encoding", "chunked"),
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("te", "trailers"),
        ("proxy-authorization", "x"),
        ("x-line", "a\r\nhost: inside.test"),
        ("x-zero", "a\0b"),
        ("x y", "a"),
        ("x:y", "a"),
        ("", "a"),
    ] {
        let mut asked = get(&format!("api.test:{port}"), "/v1/x");
        asked["headers"] = json!([[name, value]]);
        assert_eq!(
            fetch(&tool, asked).await,
            Err("HEADER".to_owned()),
            "{name:?}: {value:?}"
        );
    }
    assert!(server.asked.lock().is_empty());
    let mut asked = get(&format!("api.test:{port}"), "/v1/x?q=1");
    asked["headers"] = json!([["x-fine", "yes"]]);
    fetch(&tool, asked).await.unwrap();
    let got = server.asked.lock()[0].clone();
    assert!(got.starts_with("GET /v1/x?q=1 HTTP/1.1\r\n"), "{got}");
    assert_eq!(got.matches("host:").count(), 1, "{got}");
    assert!(got.contains(&format!("host: api.test:{port}")), "{got}");
}

#[tokio::test]
async fn an_answer_without_end_ends() {
    let server = serve("127.0.0.1", |_| {
        format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}",
            "x".repeat(200_000)
        )
    })
    .await;
    let port = server.address.port();
    let home = Home::new().unwrap();
    home.names.set("api.test", vec![vec![server.address]]);
    let tool = fetcher(&home, vec![rule("api.test", port, true)], Vec::new()).await;
    assert_eq!(
        fetch(&tool, get(&format!("api.test:{port}"), "/v1/x")).await,
        Err("BODY".to_owned())
    );
}

//! How fast do a provider's bytes become chunks? Deltas of 20 bytes, as most providers send them, in reads of 16 KiB.

#![expect(clippy::unwrap_used, reason = "a benchmark of what fails measures nothing")]

use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hames_llm::chat::dialect;
use hames_llm::limits::Limits;
use hames_llm::offline::Wire;
use hames_llm::sse::SseParser;

/// What a connection hands over at once.
const READ_BYTES: usize = 16 << 10;

const DELTAS: usize = 20_000;

/// An answer as DeepSeek streams it.
fn answer() -> String {
    let mut answer = String::new();
    for at in 0..DELTAS {
        write!(
            answer,
            "data: {{\"id\":\"9f6c\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\
             \"model\":\"deepseek-v4-flash\",\"system_fingerprint\":\"fp_1\",\"choices\":[{{\"index\":0,\
             \"delta\":{{\"content\":\"twenty bytes, {at:06}\"}},\"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
        )
        .unwrap();
    }
    answer.push_str(
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    );
    answer
}

fn bench(criterion: &mut Criterion) {
    let answer = answer();
    let mut group = criterion.benchmark_group("sse");
    group.throughput(Throughput::Bytes(answer.len() as u64));
    group.bench_function("bytes to events", |bencher| {
        bencher.iter(|| {
            let mut parser = SseParser::new(1 << 20);
            let mut bytes = 0;
            for piece in answer.as_bytes().chunks(READ_BYTES) {
                parser.push(piece);
                while let Some(event) = parser.next().unwrap() {
                    bytes += event.data.len();
                }
            }
            black_box(bytes)
        });
    });
    group.bench_function("bytes to chunks", |bencher| {
        bencher.iter(|| {
            let mut chunks = 0;
            let pieces = answer.as_bytes().chunks(READ_BYTES);
            Wire::Chat(&dialect::DEEPSEEK)
                .decode(pieces, &Limits::default(), |chunk| {
                    black_box(&chunk);
                    chunks += 1;
                })
                .unwrap();
            assert!(chunks > DELTAS);
        });
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);

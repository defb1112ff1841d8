//! How long a server wants to be left alone.

use std::time::{Duration, SystemTime};

use super::*;

/// What is read from a refusal with these headers.
async fn asked(status: u16, headers: &[(&'static str, &str)]) -> Option<Duration> {
    let refusal = answer_json(status, &json!({"error": {"message": "slow down"}}));
    let answer = headers.iter().fold(refusal, |answer, (name, value)| answer.header(name, *value));
    let failed = read(ApiKind::Chat, answer).await.unwrap_err();
    assert!(failed.is_transient());
    failed.retry_after()
}

#[tokio::test]
async fn every_form_of_the_wish_is_understood() {
    for (headers, expected) in [
        (&[][..], None),
        (&[("retry-after", "7")], Some(7000)),
        (&[("Retry-After", " 7 ")], Some(7000)),
        (&[("retry-after", "1.5")], Some(1500)),
        (&[("retry-after", "0")], Some(0)),
        (&[("retry-after-ms", "250")], Some(250)),
        (&[("retry-after-ms", "250"), ("retry-after", "7")], Some(250)),
        (&[("retry-after-ms", "soon"), ("retry-after", "7")], Some(7000)),
        (&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")], Some(0)),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "NaN")], None),
        (&[("retry-after", "inf")], None),
        (&[("retry-after", "1e300")], None),
        (&[("retry-after", "")], None),
        (&[("retry-after", "in a while")], None),
        (&[("retry-after", "86400")], Some(86_400_000)),
    ] {
        for status in [429, 503, 408] {
            assert_eq!(asked(status, headers).await, expected.map(Duration::from_millis), "{status} {headers:?}");
        }
    }
}

#[tokio::test]
async fn a_date_is_a_wait_from_now_on() {
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(90));
    let wait = asked(429, &[("retry-after", &date)]).await.unwrap();
    assert!((Duration::from_mins(1)..=Duration::from_secs(90)).contains(&wait), "{wait:?}");
}

#[tokio::test]
async fn an_error_inside_a_good_status_has_wishes_too() {
    let answer = answer_json(200, &json!({"error": {"code": 429, "message": "slow"}})).header("retry-after", "3");
    let failed = read(ApiKind::Chat, answer).await.unwrap_err();
    assert_eq!(failed.retry_after(), Some(Duration::from_secs(3)));
}

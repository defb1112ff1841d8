use crate::support::PromptCost;

#[test]
fn only_long_beginnings_that_were_sent_before_are_cheap() {
    let long = "ä".repeat(4096);
    let short = "b".repeat(4095);
    let prompts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let cost = PromptCost::of(&prompts(&[&long, &format!("{long}c"), &format!("c{long}")]));
    assert_eq!(cost, PromptCost { sent: 4096 + 4097 + 4097, repeated: 4096 });
    assert!((cost.charged() - (12_290.0 - 3072.0)).abs() < 1e-9);
    assert!((cost.share() - 4096.0 / 12_290.0).abs() < 1e-9);
    assert_eq!(PromptCost::of(&prompts(&[&short, &short])), PromptCost { sent: 8190, repeated: 0 });
}

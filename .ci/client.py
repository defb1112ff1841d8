"""Runs a debate by a client that a tool made of the OpenAPI document, and knows nothing else of the server.

Takes the server's address and the directory of the generated package `client`; the token is DIALECTIC_TOKEN.
"""

import os
import sys

address, directory = sys.argv[1:]
sys.path.insert(0, directory)

from client import AuthenticatedClient  # noqa: E402
from client.api.default import (  # noqa: E402
    answer_questions, follow_debate, forecast_debate, fork_debate, get_debate, get_setup, list_debates, pause_debate,
    rate_debate, report_debate, start_debate,
)
from client.models import (  # noqa: E402
    Answer, Answers, Debate, Feedback, FeedbackRating, Fork, Member, NewDebate, Problem, Rules, TextFile,
)

client = AuthenticatedClient(
    base_url=address, token=os.environ["DIALECTIC_TOKEN"], timeout=60.0, raise_on_unexpected_status=True
)


def expect(kind, value):
    assert isinstance(value, kind), value
    return value


setup = get_setup.sync(client=client)
roles = [setup.agents[0].role, setup.agents[1].role]
new = NewDebate(
    problem="Design a cache. It must be consistent.",
    files=[TextFile(name="load.md", text="Two thousand requests a second at peak.")],
    rounds=1,
    agents=[Member(role=role) for role in roles],
    debate=Rules(interactive_clarifications=True),
    offline=True,
)
forecast = forecast_debate.sync(client=client, body=new)
assert forecast.calls > 0, forecast

# What is refused comes as a problem, with the key that is wrong.
refused = expect(Problem, start_debate.sync(client=client, body=NewDebate(problem=" ")))
assert (refused.type_, refused.key, refused.retryable) == ("validation", "problem", False), refused

started = start_debate.sync(client=client, body=new)
while (shown := expect(Debate, get_debate.sync(started.id, client=client))).summary.status != "asking":
    assert shown.summary.status == "running", shown.summary
assert shown.questions, shown
answers = [Answer(agent_id=one.agent_id, question_id=one.question_id, answer="As usual.") for one in shown.questions]
answered = answer_questions.sync_detailed(started.id, client=client, body=Answers(answers=answers, end=True))
assert answered.status_code == 202, answered

# The stream ends when the debate does.
events = expect(str, follow_debate.sync(started.id, client=client))
assert "event: end" in events and "id: 1\n" in events, events[-500:]
shown = expect(Debate, get_debate.sync(started.id, client=client))
assert shown.summary.status == "completed", shown.summary
assert shown.state["attachments"][0]["name"] == "load.md", shown.state["attachments"]
assert "## " in expect(str, report_debate.sync(started.id, client=client))
rated = rate_debate.sync_detailed(started.id, client=client, body=Feedback(rating=FeedbackRating(1), note="It will do."))
assert rated.status_code == 204, rated
paused = expect(Problem, pause_debate.sync(started.id, client=client))
assert paused.type_ == "conflict", paused
fork = fork_debate.sync(started.id, client=client, body=Fork(at="1.refinement", offline=True))
expect(str, follow_debate.sync(fork.id, client=client))
listed = list_debates.sync(client=client, status="completed")
assert {one.id for one in listed.debates} == {started.id, fork.id}, listed

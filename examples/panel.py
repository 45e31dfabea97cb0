"""Several verdicts on one text: what they come to, and how far apart they are."""

from agent_eval_rpc import Client
from agent_eval_rpc.models import PanelFailure

TEXT = "The import took 41 s, down from 6 minutes. It needs 90 MB more memory."

with Client() as client:
    result = client.judge(TEXT, rubric_name="anti-slop", samples=5, pool="median")

for member in result.samples or []:
    said = member.error.code if isinstance(member, PanelFailure) else f"{member.composite:.2f}"
    print(member.model, said)
print(f"pooled {result.composite:.2f}, stdev {result.stdev}, agreement {result.agreement}")

"""Two versions of a text: which is better, and does the order of asking decide?"""

from agent_eval_rpc import Client

OLD = "Our platform empowers teams to unlock the full potential of their data."
NEW = "Imports of 2 GB now take 41 s instead of 6 minutes, and 90 MB more memory."

with Client() as client:
    result = client.compare(OLD, NEW, rubric_name="anti-slop", samples=3)

if result.winner is None:
    print("no answer in both orders:", result.warnings)
elif result.flipped:
    print("the judge prefers a place, not a text: a tie")
else:
    print("better:", {"a": "the old text", "b": "the new text", "tie": "neither"}[result.winner])
print(f"{result.n} comparisons, agreement of both orders: {result.consistency}")

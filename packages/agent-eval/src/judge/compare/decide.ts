import type { Preference } from '@tangle-network/agent-eval-contract';

/** What one order said, or nothing where it failed. */
export type Said = { winner: Preference; rationale: string } | null;

export interface Decision {
  winner: Preference | null;
  flipped: boolean;
  consistency: number | null;
  n: number;
  rationale: string;
  warnings: string[];
}

/**
 * What several comparisons come to, each of them one order or both. A text wins a comparison by winning every
 * order of it, and all of them by winning more than half. A comparison with an order missing counts for nobody,
 * and without more than half of them complete nobody wins: a lone order says more about places than about texts.
 */
export function decide(comparisons: readonly (readonly Said[])[]): Decision {
  const complete = comparisons.flatMap((orders) => {
    const said = orders.filter((one) => one !== null);
    return said.length === orders.length ? [said] : [];
  });
  const winners = complete.map((orders) => winnerOf(orders.map(({ winner }) => winner)));
  const enough = complete.length * 2 > comparisons.length;
  const winner = enough ? majority(winners) : null;
  const both = complete.filter((orders) => orders.length > 1);
  const agreeing = both.filter((orders) => new Set(orders.map((one) => one.winner)).size === 1);
  return {
    winner,
    flipped: both.some(isFlip),
    consistency: both.length === 0 ? null : agreeing.length / both.length,
    n: complete.length,
    rationale: rationaleFor(winner, complete.flat()),
    warnings: warnings(comparisons, complete.length),
  };
}

function winnerOf([first, ...others]: readonly Preference[]): Preference {
  return first !== undefined && others.every((other) => other === first) ? first : 'tie';
}

function majority(winners: readonly Preference[]): Preference {
  const share = (side: Preference): number => winners.filter((winner) => winner === side).length;
  if (share('a') * 2 > winners.length) return 'a';
  return share('b') * 2 > winners.length ? 'b' : 'tie';
}

/** Each order prefers another text: what decided was the place. */
function isFlip(orders: readonly { winner: Preference }[]): boolean {
  const sides = new Set(orders.map(({ winner }) => winner));
  return sides.has('a') && sides.has('b');
}

function rationaleFor(
  winner: Preference | null,
  said: readonly { winner: Preference; rationale: string }[],
): string {
  return (said.find((one) => one.winner === winner) ?? said[0])?.rationale ?? '';
}

function warnings(comparisons: readonly (readonly Said[])[], complete: number): string[] {
  const found: string[] = [];
  if (comparisons.some((orders) => orders.length === 1)) {
    found.push('asked in one order only: a preference for a place would not show');
  }
  if (complete < comparisons.length) {
    const what = `${comparisons.length - complete} of ${comparisons.length} comparisons lack an order and count for nobody`;
    found.push('singleOrder', what);
  }
  return found;
}

/** Every one of these takes at least one number. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Standard deviation of a sample; null for a single value. */
export function deviation(values: readonly number[]): number | null {
  if (values.length < 2) return null;
  const middle = mean(values);
  const squares = values.reduce((sum, value) => sum + (value - middle) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1));
}

/** One minus the mean difference of two of the values, each from 0 to 1; null for a single one. */
export function agreement(values: readonly number[]): number | null {
  const pairs = (values.length * (values.length - 1)) / 2;
  if (pairs === 0) return null;
  // In a sorted list each value is larger than those before it and smaller than those after.
  const sorted = [...values].sort((a, b) => a - b);
  const sum = sorted.reduce((total, value, i) => total + value * (2 * i - sorted.length + 1), 0);
  return Math.min(1, Math.max(0, 1 - sum / pairs));
}

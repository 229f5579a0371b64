import { useCallback } from "react";
import { useSearchParams } from "react-router";

/**
 * One piece of view state that lives in the address, so that it survives reload, can be shared, and
 * Back undoes it. The default is left out. While typing, the entry is replaced; a deliberate step
 * (`push`) gets a history entry of its own.
 */
export function useUrlState(key: string, initial = ""): [string, (value: string, push?: boolean) => void] {
  const [params, setParams] = useSearchParams();
  const value = params.get(key) ?? initial;
  const set = useCallback(
    (next: string, push = false) =>
      setParams(
        (before) => {
          const after = new URLSearchParams(before);
          if (next === initial) after.delete(key);
          else after.set(key, next);
          return after;
        },
        { replace: !push, preventScrollReset: true },
      ),
    [key, initial, setParams],
  );
  return [value, set];
}

/** Takes several pieces away in one step: two steps in a row would each start from the address as it was. */
export function useUrlClear(): (keys: readonly string[], push?: boolean) => void {
  const [, setParams] = useSearchParams();
  return useCallback(
    (keys, push = false) =>
      setParams(
        (before) => {
          const after = new URLSearchParams(before);
          for (const key of keys) after.delete(key);
          return after;
        },
        { replace: !push, preventScrollReset: true },
      ),
    [setParams],
  );
}

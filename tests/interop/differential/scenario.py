# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""Random scenarios: what hooks, listeners, steps, threads and the program do, and when.

A scenario is a dictionary that JSON can hold. Callbacks of a hook count from 1, and an action is
[callback, number, what]. What is an error's name (it is thrown), "stop", "coord_stop", "coord_<error>"
(a thread's report, made by a thread), "late_<error>" (a thread that fails once it should stop), or
"train" (a run without hooks).
"""

import copy
import random

ERRORS = ("aborted", "unavailable", "out_of_range", "stop_iteration", "plain", "data_loss", "cancelled")
PREEMPTIONS = ("aborted", "unavailable")
CALLBACKS = ("begin", "created", "before", "after", "end")


def action(rng, callback):
    kind = rng.random()
    if callback == "begin" or kind < 0.45:
        return rng.choice(ERRORS + 3 * PREEMPTIONS)
    if kind < 0.65 and callback != "end":
        return "stop"
    if kind < 0.75:
        return "train"
    if callback in ("created", "before", "after"):
        return rng.choice(("coord_stop", "coord_" + rng.choice(ERRORS), "late_" + rng.choice(ERRORS)))
    return rng.choice(ERRORS)


def scripted(rng):
    acts = []
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        callback = rng.choice(("begin", "end") + 2 * ("created",) + 4 * ("before", "after"))
        number = 1 if callback in ("begin", "end") else rng.randint(1, 5)
        acts.append([callback, number, action(rng, callback)])
    return {"type": "scripted", "fetch": rng.choice(("none", "none", "y", "pair")), "acts": acts}


def saver(rng, with_listener):
    acts = []
    for _ in range(rng.choice((0, 0, 1, 2)) if with_listener else 0):
        callback = rng.choice(("begin", "end", "before", "before", "after", "after"))
        what = rng.choice(("stop", "plain", "data_loss", "aborted", "out_of_range"))
        if callback != "after" and what == "stop":
            what = "unavailable"
        acts.append([callback, 1 if callback in ("begin", "end") else rng.randint(1, 4), what])
    return {"type": "saver", "save_steps": rng.randint(1, 4), "listener": with_listener, "acts": acts}


def hook(rng, kind):
    choice = rng.random()
    if choice < 0.55:
        return scripted(rng)
    if choice < 0.67 and kind != "train":
        return saver(rng, rng.random() < 0.7)
    return rng.choice(({"type": "stop_last", "n": rng.randint(1, 6)}, {"type": "stop_num", "n": rng.randint(1, 4)},
                       {"type": "final"}, {"type": "feed"}, {"type": "nan", "fails": rng.random() < 0.5},
                       {"type": "log", "n": rng.randint(1, 3), "at_end": rng.random() < 0.5},
                       {"type": "wait", "n": rng.choice((-1, 0))}))


def step_fn(rng):
    runs = rng.randint(0, 3)
    acts = [[rng.randint(1, 3), rng.randint(0, runs),
             rng.choice(ERRORS + 3 * PREEMPTIONS + ("stop", "train", "train", "coord_aborted", "coord_plain"))]
            for _ in range(rng.choice((0, 1, 1, 2)))]
    return {"op": "step_fn", "runs": runs, "acts": acts}


def user_step(rng):
    choice = rng.random()
    if choice < 0.6:
        return {"op": "run", "fetch": rng.choice(("train", "train", "train", "big", "y", "fed"))}
    if choice < 0.85:
        return step_fn(rng)
    return rng.choice(({"op": "raise", "error": rng.choice(ERRORS)}, {"op": "close"},
                       {"op": "coord", "error": rng.choice(ERRORS)}, {"op": "should_stop"}))


def make(seed):
    rng = random.Random(f"scenario {seed}")
    kind = rng.choice(("singular", "monitored", "monitored", "monitored", "train"))
    has_directory = kind == "train" or rng.random() < 0.6
    hooks = [hook(rng, kind) for _ in range(rng.choice((0, 1, 1, 2, 2, 3)))]
    if not has_directory:
        hooks = [each for each in hooks if each["type"] != "saver"]
    savers = [each for each in hooks if each["type"] == "saver"]
    for extra in savers[1:]:  # One directory has one.
        hooks.remove(extra)
    return {
        "kind": kind,
        "directory": has_directory,
        "restored": rng.choice((-1, -1, 2, 3)) if has_directory else -1,
        "scope": kind == "train" or rng.random() < 0.8,
        "checks": rng.random() < 0.85,
        "catches": rng.random() < 0.25,
        "max_runs": rng.randint(1, 7),
        "save_steps": rng.randint(1, 4),
        "hooks": hooks,
        "init": [[rng.randint(1, 3), rng.choice(ERRORS)]] if rng.random() < 0.1 else [],
        "step": [[rng.randint(1, 6), rng.choice(ERRORS + PREEMPTIONS)]
                 for _ in range(rng.choice((0, 0, 0, 1, 2)))] if kind != "train" else [],
        "user": {str(rng.randint(1, 5)): user_step(rng) for _ in range(rng.choice((0, 1, 1, 2)))},
    }


def smaller(scenario):
    """Scenarios that lack one thing."""
    for i in range(len(scenario["hooks"])):
        one = copy.deepcopy(scenario)
        del one["hooks"][i]
        yield one
        for j in range(len(scenario["hooks"][i].get("acts", ()))):
            one = copy.deepcopy(scenario)
            del one["hooks"][i]["acts"][j]
            yield one
        if scenario["hooks"][i].get("fetch", "none") != "none":
            one = copy.deepcopy(scenario)
            one["hooks"][i]["fetch"] = "none"
            yield one
    for key in ("init", "step"):
        for i in range(len(scenario[key])):
            one = copy.deepcopy(scenario)
            del one[key][i]
            yield one
    for number, step in scenario["user"].items():
        one = copy.deepcopy(scenario)
        del one["user"][number]
        yield one
        for i in range(len(step.get("acts", ()))):
            one = copy.deepcopy(scenario)
            del one["user"][number]["acts"][i]
            yield one
        if step.get("runs", 0) > 0:
            one = copy.deepcopy(scenario)
            one["user"][number]["runs"] -= 1
            yield one
    for key, least in (("max_runs", 1), ("restored", -1)):
        if scenario[key] > least:
            one = copy.deepcopy(scenario)
            one[key] = scenario[key] - 1 if key == "max_runs" else -1
            yield one
    if scenario["directory"] and scenario["kind"] != "train" and scenario["restored"] < 0 and \
            not any(each["type"] == "saver" for each in scenario["hooks"]):
        yield {**scenario, "directory": False}
    if scenario["catches"]:
        yield {**scenario, "catches": False}


def shrink(scenario, differs):
    """A smaller scenario for which differs(scenario) is true as well."""
    found = True
    while found:
        found = False
        for one in smaller(scenario):
            if differs(one):
                scenario, found = one, True
                break
    return scenario

# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
"""The differences on purpose, as patches of TensorFlow.

Each patch names the line of docs/porting.md that announces it; without that line it is refused. What
is not patched here must be the same.
"""

import os
import pathlib

from tensorflow.python.framework import errors
from tensorflow.python.training import basic_session_run_hooks as hooks
from tensorflow.python.training import checkpoint_management
from tensorflow.python.training import coordinator
from tensorflow.python.training import monitored_session as ms
from tensorflow.python.training import session_run_hook

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "porting.md"
LINES = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
PREEMPTIONS = (errors.AbortedError, errors.UnavailableError)


def documented(*starts):
    """Requires that rows of the page begin with these words."""
    for start in starts:
        if not any(line.startswith(f"| {start}") for line in LINES):
            raise LookupError(f"docs/porting.md has no row that begins with {start!r}: a patch needs it")
    return lambda patch: patch


class Stop:
    """The request that stops the run: kept through recoveries, and refusing runs but repetitions."""

    requested, count, excused = False, 0, 0

    def reset(self):
        self.requested, self.count, self.excused = False, 0, 0

    def request(self):
        self.requested = True
        self.count += 1

    def refuses(self):
        return self.count > self.excused


STOP = Stop()


@documented("a stop that is requested in a run is forgotten if the run fails",
            "`StepContext.request_stop` outside a scope sets nothing")
def keep_requests():
    original = ms._HookedSession.run

    def request_stop(self):
        self._stop_requested = True
        STOP.request()

    def run(self, *args, **kwargs):
        if STOP.refuses():
            raise RuntimeError("Run called even after should_stop requested.")
        self._is_running = True
        try:
            return original(self, *args, **kwargs)
        finally:
            self._is_running = False

    def request_in_function(self):
        STOP.request()
        raise StopIteration("requested by the step function")

    session_run_hook.SessionRunContext.request_stop = request_stop
    ms._HookedSession.run = run
    ms._HookedSession._check_stop = lambda self: STOP.requested and not getattr(self, "_is_running", False)
    ms._MonitoredSession.StepContext.request_stop = request_in_function
    for name in ("run", "run_step_fn"):
        begin_call(name)


def begin_call(name):
    original = getattr(ms._MonitoredSession, name)

    def call(self, *args, **kwargs):
        if self._sess is None:
            raise RuntimeError("the session is closed")
        depth = getattr(self, "_depth", 0)
        if depth == 0:
            STOP.excused = 0
        self._depth = depth + 1
        try:
            return original(self, *args, **kwargs)
        finally:
            self._depth = depth

    setattr(ms._MonitoredSession, name, call)


@documented("`StopAtStepHook` looks at the step after a run only if one step more would reach the target")
def stop_runs_of_several_steps():
    stop = hooks.StopAtStepHook
    original = stop.after_create_session

    def after_create_session(self, session, coord):
        original(self, session, coord)
        self.previous, self.pace = None, 1

    def after_run(self, run_context, run_values):
        before = run_values.results
        self.pace = max(self.pace, before - (before if self.previous is None else self.previous))
        self.previous = before
        if self._last_step - before <= (1 if self.pace == 1 else 4 * self.pace):
            if run_context.session.run(self._global_step_tensor) >= self._last_step:
                run_context.request_stop()

    stop.after_create_session, stop.after_run = after_create_session, after_run


def recovers(session, error):
    return session.recovers and isinstance(error, PREEMPTIONS)


@documented("if a hook fails in `after_create_session` after a thread has failed")
def call_after_create_session(creator, session):
    try:
        for hook in creator._hooks:
            hook.after_create_session(creator.tf_sess, creator.coord)
    except Exception as error:
        if not recovers(session, error):
            try:
                creator.coord.raise_requested_exception()
            except Exception as cause:
                if not recovers(session, cause):
                    raise cause
        raise


@documented("after a restore at the target one more step is made")
def stop_at_a_target_that_is_reached():
    session, init = ms._MonitoredSession, ms._MonitoredSession.__init__

    def record_recovery(self, creator, given, should_recover, **kwargs):
        session.recovers = should_recover
        init(self, creator, given, should_recover, **kwargs)

    def create_session(self):
        self.tf_sess = self._session_creator.create_session()
        start = hooks.training_util.global_step(self.tf_sess, hooks.training_util.get_global_step())
        self.coord = coordinator.Coordinator(clean_stop_exception_types=[])
        call_after_create_session(self, session)
        if any(isinstance(hook, hooks.StopAtStepHook) and hook._last_step <= start for hook in self._hooks):
            STOP.request()
        STOP.excused = STOP.count
        return ms._CoordinatedSession(ms._HookedSession(self.tf_sess, self._hooks), self.coord,
                                      self._stop_grace_period_secs)

    session.__init__ = record_recovery
    session._CoordinatedSessionCreator.create_session = create_session


@documented("an `OutOfRangeError` or `StopIteration` while a lost session is created again",
            "after a recovery that failed, the next run tries again",
            "`StepContext.session` is the lost session after a recovery")
def lose_sessions():
    session = ms._RecoverableSession
    original_close = session.close

    def recover(self):
        try:
            coord = self._sess._coord
            if coord.should_stop() and not coord._exc_info_to_raise:
                STOP.request()
            original_close(self)
            self._sess = self._create_session()
        except Exception as loss:
            self.loss = loss
            raise

    def repeat(self, call):
        while True:
            try:
                if not self._sess:
                    raise RuntimeError("the session is lost")
                return call()
            except PREEMPTIONS:
                recover(self)

    def run(self, *args, **kwargs):
        return repeat(self, lambda: self._sess.run(*args, **kwargs))

    def run_step_fn(self, step_fn, raw_session, run_with_hooks):
        return repeat(self, lambda: self._sess.run_step_fn(step_fn, self._sess_creator.tf_sess, self._sess.run))

    def check_stop(self):
        if not self._sess:
            return True
        try:
            return self._sess._check_stop()
        except PREEMPTIONS:
            recover(self)
            return False
        except Exception:
            return True

    session.loss = None
    session.run, session.run_step_fn, session._check_stop = run, run_step_fn, check_stop


class ToldHook:
    """A hook, of which the session notes whether it has seen a step."""

    def __init__(self, session, number, hook):
        self.session, self.number, self.hook = session, number, hook

    def __getattr__(self, name):
        return getattr(self.hook, name)

    def after_run(self, run_context, run_values):
        self.session.told = self.number
        try:
            self.hook.after_run(run_context, run_values)
        finally:
            self.session.is_rejected = getattr(run_context, "is_rejected", False)


def is_at_a_step(session):
    while session is not None and not isinstance(session, ms._HookedSession):
        session = session._sess
    if session is None or session.is_rejected or session.phase == "runs":
        return False
    rest = session._hooks[session.told + 1:] if session.phase == "reports" else []
    return all(isinstance(hook.hook, hooks.CheckpointSaverHook) for hook in rest)


@documented("an error that ends the run while a stop is pending")
def record_phases():
    hooked, wrapped = ms._HookedSession, ms._WrappedSession
    init, ask, run_hooked, run_wrapped = hooked.__init__, hooked._call_hook_before_run, hooked.run, wrapped.run

    def record_hooks(self, session, given):
        init(self, session, [ToldHook(self, i, hook) for i, hook in enumerate(given)])
        self.phase, self.told, self.is_rejected = "done", -1, False

    def record_asking(self, *args):
        self.phase = "asks"
        feeds = ask(self, *args)
        self.phase = "runs"
        return feeds

    def record_telling(self, *args, **kwargs):
        values = run_wrapped(self, *args, **kwargs)
        if isinstance(self, hooked):
            self.phase, self.told = "reports", -1
        return values

    def record_done(self, *args, **kwargs):
        values = run_hooked(self, *args, **kwargs)
        self.phase = "done"
        return values

    hooked.__init__, hooked._call_hook_before_run, hooked.run = record_hooks, record_asking, record_done
    wrapped.run = record_telling


@documented("if an `end` fails, those of later hooks are skipped", "a second `close` calls `end` again and fails")
def end_all_hooks():
    def close_internal(self, exception_type=None):
        if self._sess is None:
            return
        first = getattr(self._sess, "loss", None)
        session = self._coordinated_creator.tf_sess
        if first is None and not exception_type:
            for call in ("before_end", "end"):
                for hook in self._hooks:
                    try:
                        getattr(hook, call, lambda session: None)(session)
                    except Exception as error:
                        first = first or error
        elif exception_type:
            first = None
            if STOP.requested and is_at_a_step(self._sess):
                for hook in self._hooks:
                    try:
                        getattr(hook, "before_end", lambda session: None)(session)
                    except Exception:
                        pass  # It is logged.
        try:
            self._sess.close()
        except Exception as error:
            first = first or error
        self._sess = None
        self._coordinated_creator.tf_sess = None
        self._coordinated_creator.coord = None
        if first:
            raise first

    ms._MonitoredSession._close_internal = close_internal


@documented("the save at the creation of a session also follows a restore",
            "the request of a listener to stop, after the save at the creation of a session, is dropped",
            "a step whose save failed is not saved at the end either",
            "a run that `NanTensorHook` stops without an error saves the NaN",
            "the last save comes in the order of the hooks")
def save_what_is_missing():
    saver = hooks.CheckpointSaverHook
    original_save, original_after_run, original_nan = saver._save, saver.after_run, hooks.NanTensorHook.after_run

    def step_of(self, session):
        return session.run(self._global_step_tensor)

    def save(self, session, step):
        for listener in self._listeners:
            listener.before_save(session, step)
        self.saved_step = step
        self._get_saver().save(session, self._save_path, global_step=step, write_meta_graph=False)
        return any([listener.after_save(session, step) for listener in self._listeners])

    def after_create_session(self, session, coord):
        step = step_of(self, session)
        self.saved_step, self.is_rejected = None, False
        self._timer.update_last_triggered_step(step)
        if checkpoint_management.checkpoint_exists(f"{self._save_path}-{step}"):
            self.saved_step = step
        elif self._save(session, step):
            coord.request_stop()

    def after_run(self, run_context, run_values):
        self.is_rejected = getattr(run_context, "is_rejected", False)
        if not self.is_rejected:
            original_after_run(self, run_context, run_values)

    def before_end(self, session):
        self.has_failed = True
        step = step_of(self, session)
        if not self.is_rejected and step != self.saved_step:
            self._save(session, step)
        self.has_failed = False

    def end(self, session):
        if self.has_failed:
            return
        step = step_of(self, session)
        for listener in self._listeners:
            listener.end(session, step)

    def reject(self, run_context, run_values):
        if hooks.np.isnan(run_values.results):
            run_context.is_rejected = True
        original_nan(self, run_context, run_values)

    saver._save, saver.after_create_session = save, after_create_session
    saver.after_run, saver.before_end, saver.end = after_run, before_end, end
    hooks.NanTensorHook.after_run = reject


@documented("a session that is not used in a `with` is abandoned")
def destroy(session, error):
    try:
        session._close_internal(type(error))
    except Exception:
        pass  # It is logged.


@documented("savers created by the session come before the user's hooks")
def order(given, saver):
    return given + saver


def apply():
    keep_requests()
    record_phases()
    stop_at_a_target_that_is_reached()
    stop_runs_of_several_steps()
    lose_sessions()
    end_all_hooks()
    save_what_is_missing()

! Copyright 2026 The crochet authors
! SPDX-License-Identifier: Apache-2.0
!
! The heat equation on a plate of 200 x 300 points, in Fortran: killed at any moment and started
! again, it ends with the same field, bit for bit.
!
!   heat runs/heat 2000
program heat
  use, intrinsic :: iso_c_binding
  use crochet
  implicit none

  integer, parameter :: width = 200, height = 300
  real(c_double), target :: field(width, height), next(width, height)
  real(c_double), target :: time
  type(c_ptr) :: loop
  integer(c_int64_t) :: step
  integer(c_int) :: exit_code
  character(len=256) :: directory, last_step

  call get_command_argument(1, directory)
  call get_command_argument(2, last_step)
  field = 0
  field(:, 1) = 100
  time = 0

  loop = crochet_loop_new(directory)
  call crochet_loop_set(loop, "checkpoint.every_steps", "100")
  call crochet_loop_add_hook(loop, "StopAtStepHook", last_step)
  call crochet_loop_add_hook(loop, "SignalHook", "SIGINT SIGTERM")
  call crochet_loop_track(loop, "field", c_loc(field), crochet_float64, shape(field))
  call crochet_loop_track(loop, "time", c_loc(time), crochet_float64, shape(time))
  call crochet_check(crochet_loop_start(loop, step))
  do while (crochet_loop_should_stop(loop) == 0)
    next = field
    next(2:width-1, 2:height-1) = field(2:width-1, 2:height-1) + 0.2d0 * &
        (field(1:width-2, 2:height-1) + field(3:width, 2:height-1) + &
         field(2:width-1, 1:height-2) + field(2:width-1, 3:height) - &
         4 * field(2:width-1, 2:height-1))
    field = next
    time = time + 0.1d0
    call crochet_check(crochet_loop_end_step(loop))
  end do
  call crochet_check(crochet_loop_finish(loop, step, exit_code))
  call crochet_loop_free(loop)
  print "(a, i0, a, z16.16, a, z16.16)", "step ", step, " time ", time, " heat ", sum(field)
  call exit(exit_code)
end program

! Copyright 2026 The crochet authors
! SPDX-License-Identifier: Apache-2.0
!
! What crochet/c.h declares for a loop, for Fortran. Copy it into your program.
module crochet
  use, intrinsic :: iso_c_binding
  implicit none
  private :: c_text

  integer(c_int), parameter :: crochet_ok = 0
  integer(c_int), parameter :: crochet_float32 = 1, crochet_float64 = 2, crochet_int32 = 3, &
      crochet_int64 = 9

  interface
    integer(c_int) function crochet_loop_start(loop, step) bind(c)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: loop
      integer(c_int64_t), intent(out) :: step
    end function
    integer(c_int) function crochet_loop_should_stop(loop) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: loop
    end function
    integer(c_int) function crochet_loop_end_step(loop) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: loop
    end function
    integer(c_int) function crochet_loop_finish(loop, last_step, exit_code) bind(c)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: loop
      integer(c_int64_t), intent(out) :: last_step
      integer(c_int), intent(out) :: exit_code
    end function
    subroutine crochet_loop_free(loop) bind(c)
      import :: c_ptr
      type(c_ptr), value :: loop
    end subroutine
    integer(c_int) function loop_new(directory, loop) bind(c, name="crochet_loop_new")
      import :: c_int, c_char, c_ptr
      character(kind=c_char), intent(in) :: directory(*)
      type(c_ptr), intent(out) :: loop
    end function
    integer(c_int) function loop_set(loop, option, text) bind(c, name="crochet_loop_set")
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: loop
      character(kind=c_char), intent(in) :: option(*), text(*)
    end function
    integer(c_int) function loop_add_hook(loop, hook, text) bind(c, name="crochet_loop_add_hook")
      import :: c_int, c_char, c_ptr
      type(c_ptr), value :: loop
      character(kind=c_char), intent(in) :: hook(*), text(*)
    end function
    integer(c_int) function loop_track(loop, name, elements, dtype, num_sizes, sizes) &
        bind(c, name="crochet_loop_track")
      import :: c_int, c_int64_t, c_char, c_ptr
      type(c_ptr), value :: loop, elements
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: dtype, num_sizes
      integer(c_int64_t), intent(in) :: sizes(*)
    end function
    type(c_ptr) function last_error() bind(c, name="crochet_last_error")
      import :: c_ptr
    end function
    integer(c_size_t) function strlen(text) bind(c)
      import :: c_size_t, c_ptr
      type(c_ptr), value :: text
    end function
  end interface

contains

  function c_text(text) result(copy)
    character(len=*), intent(in) :: text
    character(kind=c_char, len=len_trim(text) + 1) :: copy
    copy = trim(text) // c_null_char
  end function

  ! Stops the program with the error of a call that failed.
  subroutine crochet_check(code)
    integer(c_int), intent(in) :: code
    character(kind=c_char), pointer :: text(:)
    type(c_ptr) :: found
    if (code == crochet_ok) return
    found = last_error()
    call c_f_pointer(found, text, [strlen(found)])
    print *, text
    stop 1
  end subroutine

  function crochet_loop_new(directory) result(loop)
    character(len=*), intent(in) :: directory
    type(c_ptr) :: loop
    call crochet_check(loop_new(c_text(directory), loop))
  end function

  subroutine crochet_loop_set(loop, option, text)
    type(c_ptr), intent(in) :: loop
    character(len=*), intent(in) :: option, text
    call crochet_check(loop_set(loop, c_text(option), c_text(text)))
  end subroutine

  subroutine crochet_loop_add_hook(loop, hook, text)
    type(c_ptr), intent(in) :: loop
    character(len=*), intent(in) :: hook, text
    call crochet_check(loop_add_hook(loop, c_text(hook), c_text(text)))
  end subroutine

  ! `sizes` as shape() returns them.
  subroutine crochet_loop_track(loop, name, elements, dtype, sizes)
    type(c_ptr), intent(in) :: loop, elements
    character(len=*), intent(in) :: name
    integer(c_int), intent(in) :: dtype
    integer, intent(in) :: sizes(:)
    integer(c_int64_t) :: row_major(size(sizes))
    row_major = int(sizes(size(sizes):1:-1), c_int64_t)
    call crochet_check(loop_track(loop, c_text(name), elements, dtype, int(size(sizes), c_int), &
                                  row_major))
  end subroutine
end module

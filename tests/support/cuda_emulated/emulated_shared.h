/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays in the shared memory of the emulated device: pointers whose accesses are checked
 * (emulated_block.h). cuda/device.h has the same names for a device.
 */
#ifndef CUDA_EMULATED_SHARED_H
#define CUDA_EMULATED_SHARED_H

#include "emulated_block.h"

#include <type_traits>

/* An element: a read or a write when it is used. */
template <typename T>
class shared_element
{
  public:
    typedef typename std::remove_const<T>::type value_type;

    shared_element(T *at, int line) : at_(at), line_(line) {}
    shared_element(const shared_element &other) = default;
    operator value_type() const
    {
        emulated_shared_read(at_, sizeof(T), line_);
        return *at_;
    }
    shared_element &operator=(value_type value)
    {
        emulated_shared_write(at_, sizeof(T), line_);
        *at_ = value;
        return *this;
    }
    shared_element &operator=(const shared_element &other)
    {
        return *this = (value_type)other;
    }
    shared_element &operator+=(value_type value)
    {
        return *this = (value_type) * this + value;
    }
    shared_element &operator-=(value_type value)
    {
        return *this = (value_type) * this - value;
    }
    shared_element &operator*=(value_type value)
    {
        return *this = (value_type) * this * value;
    }

  private:
    T *at_;
    int line_;
};

/* An index, and the line in which it is one: operator[] has no argument of its own for that. */
struct shared_index {
    long long at;
    int line;
    template <typename I>
    shared_index(I index, int line_ = __builtin_LINE()) : at((long long)index), line(line_)
    {
    }
};

template <typename T>
class shared_array
{
  public:
    shared_array() : at_(nullptr) {}
    explicit shared_array(T *at) : at_(at) {}
    template <typename U>
    shared_array(const shared_array<U> &other) : at_(other.address())
    {
    }

    shared_element<T> operator[](shared_index index) const
    {
        return shared_element<T>(at_ + index.at, index.line);
    }
    template <typename I>
    shared_array operator+(I by) const
    {
        return shared_array(at_ + by);
    }
    template <typename I>
    shared_array &operator+=(I by)
    {
        at_ += by;
        return *this;
    }
    T *address() const
    {
        return at_;
    }

  private:
    T *at_;
};

template <typename T>
inline shared_array<T> shared_at(size_t offset, size_t count)
{
    return shared_array<T>(reinterpret_cast<T *>(emulated_shared(offset, count * sizeof(T))));
}

#endif
